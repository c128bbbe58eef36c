// See gpu_transport.hpp.
#include "runtimes/mpi/gpu_transport.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "runtimes/mpi/names.hpp"

namespace byteways {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSetting = "MPICH_GPU_SUPPORT_ENABLED";
constexpr const char* kBeginning = "libmpi_gtl_";

// File names, by the device file of the vendor's driver.
std::vector<std::string> layers_of_this_machine() {
  struct Layer {
    const char *device, *name;
  };
  constexpr Layer kLayers[] = {{"/dev/kfd", "libmpi_gtl_hsa.so"}, {"/dev/nvidiactl", "libmpi_gtl_cuda.so"}};
  std::vector<std::string> present, all;
  for (const Layer& layer : kLayers) {
    all.emplace_back(layer.name);
    if (access(layer.device, F_OK) == 0) present.emplace_back(layer.name);
  }
  return present.empty() ? all : present;
}

// Folders that Cray's modules name, PE_MPICH_GTL_DIR_amd_gfx90a=-L/opt/cray/pe/mpich/8.1.28/gtl/lib, and
// gtl/lib below the parents of …/mpich/8.1.28/ofi/gnu/9.1/lib.
std::vector<fs::path> layer_folders(const std::vector<std::string>& mpi_folders) {
  constexpr std::string_view kModules = "PE_MPICH_GTL_DIR_";
  constexpr int kParents = 4;
  std::vector<fs::path> folders;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t at = text.find('=');
    if (!text.starts_with(kModules) || at == std::string_view::npos) continue;
    const std::string_view value = text.substr(at + 1);
    folders.emplace_back(value.starts_with("-L") ? value.substr(2) : value);
  }
  if (const char* root = std::getenv("CRAY_MPICH_ROOTDIR")) folders.push_back(fs::path(root) / "gtl/lib");
  for (const std::string& folder : mpi_folders) {
    folders.emplace_back(folder);
    fs::path parent = canonical_path(folder);
    for (int k = 0; k < kParents; ++k) {
      parent = parent.parent_path();
      folders.push_back(parent / "gtl/lib");
    }
  }
  return folders;
}

// Lazily, as a linked program would: the layer may use functions of the library that is loaded after it.
bool load(const std::string& file, LibraryReport& report) {
  report.searched.push_back(file);
  return dlopen(file.c_str(), RTLD_LAZY | RTLD_GLOBAL) != nullptr;
}

}  // namespace

bool wants_gpu_transport() {
  const char* text = std::getenv(kSetting);
  return text != nullptr && std::atoi(text) != 0;
}

void load_gpu_transport(const std::vector<std::string>& mpi_folders, LibraryReport& report) {
  if (!loaded_libraries_named(kBeginning).empty()) return;
  const std::vector<fs::path> folders = layer_folders(mpi_folders);
  for (const std::string& name : layers_of_this_machine()) {
    if (load(name, report)) return;
    std::error_code ignored;
    for (const fs::path& folder : folders)
      if (folder.is_absolute() && fs::exists(folder / name, ignored) &&
          load((folder / name).string(), report))
        return;
  }
}

std::string gpu_transport_obstacle(const std::string& version) {
  if (!wants_gpu_transport() || version.find("CRAY MPICH") == std::string::npos ||
      !loaded_libraries_named(kBeginning).empty())
    return {};
  std::string names;
  for (const std::string& name : layers_of_this_machine()) names += (names.empty() ? "" : " or ") + name;
  return std::string(kSetting) + " is set, and with it Cray MPICH ends a process without its GPU transport " +
         "layer, which was not found: " + names;
}

}  // namespace byteways
