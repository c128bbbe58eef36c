// See names.hpp.
#include "runtimes/mpi/names.hpp"

#include <link.h>

#include <algorithm>
#include <string_view>
#include <system_error>

namespace byteways {
namespace {

namespace fs = std::filesystem;

// Cray MPICH has a library for each compiler; their C functions are the same.
const std::vector<std::string> kMpichNames = {
    "libmpi.so.12",     "libmpich.so.12",    "libmpi_gnu_*.so.12",  "libmpi_cray.so.12",
    "libmpi_amd.so.12", "libmpi_aocc.so.12", "libmpi_nvidia.so.12", "libmpi_intel.so.12"};
const std::vector<std::string> kOpenMpiNames = {"libmpi.so.40"};
const std::vector<std::string> kStandardNames = {"libmpi_abi.so.1"};

struct Pattern {
  std::string_view before, after;
  bool has_star;
};
Pattern pattern_of(std::string_view soname) {
  const std::size_t at = soname.find('*');
  if (at == std::string_view::npos) return {soname, {}, false};
  return {soname.substr(0, at), soname.substr(at + 1), true};
}
bool matches(std::string_view name, const Pattern& pattern) {
  if (!pattern.has_star) return name == pattern.before;
  return name.size() > pattern.before.size() + pattern.after.size() && name.starts_with(pattern.before) &&
         name.ends_with(pattern.after);
}

// A file that is loaded may have more or fewer numbers than its soname: libmpi.so, libmpi.so.40.30.4.
bool is_mpi_file(const std::string& path) {
  const std::string name = fs::path(path).filename();
  const std::string unversioned = name.substr(0, name.find(".so") + 3);
  for (const auto* names : {&kMpichNames, &kOpenMpiNames, &kStandardNames})
    for (const std::string& soname : *names)
      if (matches(unversioned, pattern_of(std::string_view(soname).substr(0, soname.find(".so") + 3))))
        return true;
  return false;
}

template <class Accept>
std::set<std::string> loaded_libraries(const Accept& accept) {
  struct Search {
    const Accept& accept;
    std::set<std::string> found;
  } search{accept, {}};
  const auto note = [](dl_phdr_info* info, std::size_t, void* data) {
    auto& all = *static_cast<Search*>(data);
    if (info->dlpi_name != nullptr && all.accept(std::string(info->dlpi_name)))
      all.found.insert(canonical_path(info->dlpi_name));
    return 0;
  };
  dl_iterate_phdr(note, &search);
  return search.found;
}

}  // namespace

std::vector<std::string> mpi_sonames(const std::string& family) {
  const bool open_mpi = family == "Open MPI";
  std::vector<std::string> names;
  for (const auto* list :
       {open_mpi ? &kOpenMpiNames : &kMpichNames, open_mpi ? &kStandardNames : &kOpenMpiNames,
        open_mpi ? &kMpichNames : &kStandardNames})
    names.insert(names.end(), list->begin(), list->end());
  return names;
}

std::vector<fs::path> files_named(const fs::path& folder, const std::string& soname) {
  const Pattern pattern = pattern_of(soname);
  std::error_code ignored;
  if (!pattern.has_star) {
    if (!fs::exists(folder / soname, ignored)) return {};
    return {folder / soname};
  }
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (matches(entry.path().filename().string(), pattern)) found.push_back(entry.path());
  // 123 is newer than 91.
  const auto newer = [](const fs::path& one, const fs::path& other) {
    const std::string a = one.filename(), b = other.filename();
    return a.size() != b.size() ? a.size() > b.size() : a > b;
  };
  std::sort(found.begin(), found.end(), newer);
  return found;
}

std::set<std::string> loaded_mpi_libraries() { return loaded_libraries(is_mpi_file); }

std::set<std::string> loaded_libraries_named(const std::string& beginning) {
  return loaded_libraries(
      [&](const std::string& path) { return fs::path(path).filename().string().starts_with(beginning); });
}

std::string canonical_path(const std::string& path) {
  std::error_code failure;
  const auto found = fs::canonical(path, failure);
  return failure ? path : found.string();
}

std::string family_of_launcher(const std::string& path) {
  const std::string name = fs::path(canonical_path(path)).filename();
  if (name.starts_with("hydra") || name.starts_with("mpiexec.hydra")) return "MPICH";
  for (const char* known : {"orterun", "orted", "prterun", "prted", "prte"})
    if (name == known) return "Open MPI";
  return {};
}

bool is_mpi_launcher(const std::string& path) {
  const std::string name = fs::path(path).filename();
  return name.starts_with("mpiexec") || name.starts_with("mpirun") || !family_of_launcher(path).empty();
}

std::vector<fs::path> library_folders_of(const std::string& launcher) {
  std::vector<fs::path> folders;
  for (const std::string& file : {launcher, canonical_path(launcher)})
    for (const char* folder : {"lib", "lib64", "lib/release"})
      folders.push_back(fs::path(file).parent_path().parent_path() / folder);
  return folders;
}

}  // namespace byteways
