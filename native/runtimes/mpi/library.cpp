// See library.hpp.
#include "runtimes/mpi/library.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "runtimes/mpi/gpu_transport.hpp"
#include "runtimes/mpi/names.hpp"

namespace byteways {
namespace {

constexpr const char* kOverride = "BYTEWAYS_LIBMPI";
constexpr int kVersionRoom = 8193;  // MPI_MAX_LIBRARY_VERSION_STRING of MPICH, the largest, plus a zero

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

std::string program_of(int process) {
  char path[PATH_MAX];
  const auto length = readlink(("/proc/" + std::to_string(process) + "/exe").c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

int parent_of(int process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;)
    if (word == "PPid:" && status >> word) return std::atoi(word.c_str());
  return 0;
}

std::string found_by(const MpiLauncher& launcher) { return "the launcher " + launcher.program; }

// Opens the first MPI library found, with global symbols. An override, an already loaded library, or the one
// beside the launcher take precedence.
Library open_library(const MpiOptions& options, const MpiLauncher& launcher, LibraryReport& report) {
  Library library;
  std::string broken;
  const auto attempt = [&](const std::string& name, const std::string& found_by) {
    library = Library::open_file(name, found_by, true, report, broken);
    return static_cast<bool>(library);
  };
  const char* chosen = std::getenv(kOverride);
  if (chosen != nullptr && *chosen != '\0') {
    if (attempt(chosen, kOverride)) return library;
    report.reason = broken.empty()
                        ? std::string(kOverride) + " names a file that is not there: " + chosen
                        : "the file that " + std::string(kOverride) + " names does not load: " + broken;
    report.hint = "unset " + std::string(kOverride) + ", or let it name the file of libmpi";
    return library;
  }
  const std::set<std::string> loaded = loaded_mpi_libraries();
  if (loaded.size() == 1 && attempt(*loaded.begin(), "this process had loaded it")) return library;
  const std::vector<std::string> names = mpi_sonames(launcher.family);
  const auto attempt_in = [&](const std::filesystem::path& folder, const std::string& found_by) {
    for (const std::string& name : names)
      for (const auto& file : files_named(folder, name))
        if (attempt(file.string(), found_by)) return true;
    return false;
  };
  if (!launcher.program.empty()) {
    for (const auto& folder : library_folders_of(launcher.program))
      if (attempt_in(folder, found_by(launcher))) return library;
  }
  for (const std::string& name : names)
    if (name.find('*') == std::string::npos && attempt(name, "dynamic linker")) return library;
  for (const std::string& directory : options.directories)
    if (attempt_in(directory, origin_of(directory))) return library;
  report.reason = broken.empty() ? "not found: neither the dynamic linker nor " +
                                       std::to_string(options.directories.size()) + " other folders have " +
                                       names.front()
                                 : "found, but it does not load: " + broken;
  report.hint = "load the module of an MPI, install one (pip install mpich), or let " +
                std::string(kOverride) + " name the file of libmpi";
  return library;
}

// Other MPI libraries in the searched folders.
std::vector<std::string> others_beside(const std::string& path, const MpiOptions& options) {
  std::vector<std::string> others;
  const auto own_folder = std::filesystem::path(canonical_path(path)).parent_path();
  for (const std::string& directory : options.directories)
    for (const std::string& name : mpi_sonames({}))
      for (const auto& file : files_named(directory, name))
        if (std::filesystem::path(canonical_path(file.string())).parent_path() != own_folder)
          others.push_back(file.string());
  return others;
}

// The library's name and version, without build host and date.
std::string short_version(const std::string& text) {
  std::istringstream words(text.substr(0, text.find_first_of("\n,")));
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

// The family of launchers that can start a library's ranks.
std::string family_of_library(const std::string& version) {
  return version.find("Open MPI") != std::string::npos ? "Open MPI" : "MPICH";
}

// Opens the shim for an ABI; the MPI library is already open.
const BytewaysMpi* open_shim(const std::string& folder, const std::string& abi, LibraryReport& report) {
  const std::string path = folder + "/byteways_mpi_" + abi + ".so";
  LibraryReport of_shim;
  std::string broken;
  const Library shim = Library::open_file(path, "byteways", false, of_shim, broken);
  report.hint = "reinstall byteways: its shims must be of the same build as its native module";
  if (!shim) {
    report.reason = broken.empty() ? "byteways' shim is not there: " + path
                                   : "byteways' shim does not fit this library: " + broken;
    return nullptr;
  }
  const auto table = reinterpret_cast<decltype(&byteways_mpi_table)>(shim.symbol("byteways_mpi_table"));
  if (table == nullptr || table()->version != kMpiTableVersion) {
    report.reason = "byteways' shim is of another build: " + path;
    return nullptr;
  }
  report.hint.clear();
  return table();
}

const BytewaysMpi* open_simulated(const MpiOptions& options, LibraryReport& report) {
  const Library library = Library::open({}, {}, kOverride, options.simulator, report);
  if (!library) return nullptr;
  const auto table = reinterpret_cast<decltype(&byteways_mpi_table)>(library.symbol("byteways_mpi_table"));
  if (table == nullptr) {
    report.reason = "the simulator has no MPI";
    return nullptr;
  }
  if (table()->version != kMpiTableVersion) {
    report.reason = "the simulator is of another build: " + report.path;
    return nullptr;
  }
  report.usable = true;
  return table();
}

// Why ranks started by this launcher could not communicate with this library; empty if there is no known
// conflict.
std::string mismatch(const MpiLauncher& launcher, const std::string& version, const std::string& path) {
  if (launcher.size < 2 || launcher.family.empty() || launcher.family == family_of_library(version))
    return {};
  return "a launcher of " + launcher.family +
         (launcher.program.empty() ? "" : " (" + launcher.program + ")") +
         " started this process as one of " + std::to_string(launcher.size) + ", but the library is " +
         short_version(version) + " (" + path + "): each rank would be alone";
}

}  // namespace

MpiLauncher find_mpi_launcher() {
  MpiLauncher launcher;
  if (const int size = number_in("OMPI_COMM_WORLD_SIZE"); size > 0) {
    launcher.size = size;
    launcher.family = "Open MPI";
  } else {
    launcher.size = std::max({number_in("PMI_SIZE"), number_in("MV2_COMM_WORLD_SIZE"), 0});
  }
  // PMIx and Cray's PMI set no size: srun itself tells that of its step.
  if (launcher.size == 0 && std::getenv("SLURM_PROCID") != nullptr)
    launcher.size = std::max(number_in("SLURM_STEP_NUM_TASKS"), 0);
  if (launcher.size == 0) return launcher;
  constexpr int kMostAncestors = 16;
  int process = parent_of(static_cast<int>(getpid()));
  for (int k = 0; k < kMostAncestors && process > 1; ++k, process = parent_of(process)) {
    const std::string program = program_of(process);
    const std::string family = family_of_launcher(program);
    if (!is_mpi_launcher(program)) continue;
    if (!family.empty() && !launcher.family.empty() && family != launcher.family) continue;
    if (launcher.family.empty()) launcher.family = family;
    launcher.program = program;
    break;
  }
  return launcher;
}

std::string mpi_abi(const std::string& version, const std::string& path) {
  const std::string name = std::filesystem::path(canonical_path(path)).filename();
  if (name.starts_with("libmpi_abi.")) return "standard";
  if (version.find("Open MPI v") != std::string::npos) return "openmpi";
  for (const char* known : {"MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation MPI"})
    if (version.find(known) != std::string::npos) return "mpich";
  return {};
}

const BytewaysMpi* open_mpi_table(const MpiOptions& options, LibraryReport& report, std::string& abi) {
  report.library = "mpi";
  if (!options.simulator.empty()) return open_simulated(options, report);
  if (const std::set<std::string> loaded = loaded_mpi_libraries(); loaded.size() > 1) {
    report.reason =
        "this process has loaded two libraries of MPI: " + *loaded.begin() + " and " + *loaded.rbegin();
    report.hint = "start it with one of them";
    return nullptr;
  }
  MpiLauncher launcher = find_mpi_launcher();
  if (launcher.program.empty() && !options.launcher.empty()) {
    launcher.program = options.launcher;
    if (launcher.family.empty()) launcher.family = family_of_launcher(launcher.program);
  }
  if (wants_gpu_transport()) load_gpu_transport(options.directories, report);
  const Library library = open_library(options, launcher, report);
  if (!library) return nullptr;
  if (loaded_mpi_libraries().size() > 1) {
    report.reason = "this process uses another library of MPI than " + report.path;
    report.hint = "unset " + std::string(kOverride) + ", or let it name the library in use";
    return nullptr;
  }
  const auto get_version = reinterpret_cast<int (*)(char*, int*)>(library.symbol("MPI_Get_library_version"));
  if (get_version == nullptr) {
    report.missing.push_back({"MPI_Get_library_version", "MPI 3.0", true});
    report.reason = "the file is no library of MPI 3 or later: " + report.path;
    report.hint = "let " + std::string(kOverride) + " name the file of libmpi";
    return nullptr;
  }
  std::array<char, kVersionRoom> text{};
  int length = 0;
  get_version(text.data(), &length);
  const std::string version = text.data();
  report.version = short_version(version);
  abi = mpi_abi(version, report.path);
  if (abi.empty()) {
    report.reason = "byteways has no shim for the MPI that calls itself '" + report.version + "'";
    report.hint =
        "use Open MPI, MPICH or a library of its ABI, or one with the standard ABI (libmpi_abi.so.1)";
    return nullptr;
  }
  report.version += " (" + abi + " ABI)";
  if (report.reason = gpu_transport_obstacle(version); !report.reason.empty()) {
    report.hint = "load the module of the GPU (craype-accel-…), or set MPICH_GPU_SUPPORT_ENABLED=0";
    return nullptr;
  }
  if (report.reason = mismatch(launcher, version, report.path); !report.reason.empty()) {
    report.hint = "use the mpiexec of that library, or let " + std::string(kOverride) +
                  " name the library of this launcher";
    return nullptr;
  }
  const BytewaysMpi* table = open_shim(options.shims, abi, report);
  report.usable = table != nullptr;
  const std::vector<std::string> others = others_beside(report.path, options);
  const bool chosen = report.found_by == kOverride || report.found_by == found_by(launcher);
  const bool known = launcher.size > 0 && !launcher.program.empty();
  if (report.usable && !chosen && !known && !others.empty())
    report.hint =
        "another MPI is installed, too (" + others.front() + "): " + std::string(kOverride) + " chooses";
  return table;
}

}  // namespace byteways
