// See library.hpp.
#include "runtimes/mpi/library.hpp"

#include <link.h>
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

namespace byteways {
namespace {

constexpr const char* kOverride = "BYTEWAYS_LIBMPI";
constexpr int kVersionRoom = 8193;  // MPI_MAX_LIBRARY_VERSION_STRING of MPICH, the largest, plus a zero

const std::vector<std::string> kMpichNames = {"libmpi.so.12", "libmpich.so.12"};
const std::vector<std::string> kOpenMpiNames = {"libmpi.so.40"};
const std::vector<std::string> kStandardNames = {"libmpi_abi.so.1"};

// The library of the launcher's family first: any other would not find the other ranks.
std::vector<std::string> sonames_for(const std::string& family) {
  const bool open_mpi = family == "Open MPI";
  std::vector<std::string> names;
  for (const auto* list :
       {open_mpi ? &kOpenMpiNames : &kMpichNames, open_mpi ? &kStandardNames : &kOpenMpiNames,
        open_mpi ? &kMpichNames : &kStandardNames})
    names.insert(names.end(), list->begin(), list->end());
  return names;
}

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

std::string canonical(const std::string& path) {
  std::error_code failure;
  const auto found = std::filesystem::canonical(path, failure);
  return failure ? path : found.string();
}

// The MPI family of a launcher, by the name of its file; empty: unknown.
std::string family_of_program(const std::string& path) {
  const std::string name = std::filesystem::path(canonical(path)).filename();
  if (name.starts_with("hydra") || name.starts_with("mpiexec.hydra")) return "MPICH";
  for (const char* known : {"orterun", "orted", "prterun", "prted", "prte"})
    if (name == known) return "Open MPI";
  return {};
}

// Whether a program starts ranks, of whichever family.
bool is_launcher(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  return name.starts_with("mpiexec") || name.starts_with("mpirun") || !family_of_program(path).empty();
}

// Folders of the libraries of the MPI that a launcher belongs to: PREFIX/bin has the launcher, or the link to
// it. Intel's lie in lib/release.
std::vector<std::filesystem::path> folders_of(const std::string& launcher) {
  std::vector<std::filesystem::path> folders;
  for (const std::string& file : {launcher, canonical(launcher)})
    for (const char* folder : {"lib", "lib64", "lib/release"})
      folders.push_back(std::filesystem::path(file).parent_path().parent_path() / folder);
  return folders;
}

bool is_mpi_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  return name.starts_with("libmpi.so") || name.starts_with("libmpich.so") ||
         name.starts_with("libmpi_abi.so");
}

// Paths of the MPI libraries that this process has loaded.
std::set<std::string> loaded_libraries() {
  std::set<std::string> paths;
  const auto note = [](dl_phdr_info* info, std::size_t, void* found) {
    if (info->dlpi_name != nullptr && is_mpi_file(info->dlpi_name))
      static_cast<std::set<std::string>*>(found)->insert(canonical(info->dlpi_name));
    return 0;
  };
  dl_iterate_phdr(note, &paths);
  return paths;
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
  const std::set<std::string> loaded = loaded_libraries();
  if (loaded.size() == 1 && attempt(*loaded.begin(), "this process had loaded it")) return library;
  const std::vector<std::string> names = sonames_for(launcher.family);
  if (!launcher.program.empty()) {
    for (const auto& folder : folders_of(launcher.program))
      for (const std::string& name : names)
        if (std::filesystem::exists(folder / name) && attempt((folder / name).string(), found_by(launcher)))
          return library;
  }
  for (const std::string& name : names)
    if (attempt(name, "dynamic linker")) return library;
  for (const std::string& directory : options.directories)
    for (const std::string& name : names)
      if (attempt(directory + "/" + name, origin_of(directory))) return library;
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
  const auto own_folder = std::filesystem::path(canonical(path)).parent_path();
  for (const std::string& directory : options.directories)
    for (const std::string& name : sonames_for({})) {
      const std::string file = directory + "/" + name;
      if (std::filesystem::exists(file) && std::filesystem::path(canonical(file)).parent_path() != own_folder)
        others.push_back(file);
    }
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
  if (launcher.size == 0) return launcher;
  constexpr int kMostAncestors = 16;
  int process = parent_of(static_cast<int>(getpid()));
  for (int k = 0; k < kMostAncestors && process > 1; ++k, process = parent_of(process)) {
    const std::string program = program_of(process);
    const std::string family = family_of_program(program);
    if (!is_launcher(program)) continue;
    if (!family.empty() && !launcher.family.empty() && family != launcher.family) continue;
    if (launcher.family.empty()) launcher.family = family;
    launcher.program = program;
    break;
  }
  return launcher;
}

std::string mpi_abi(const std::string& version, const std::string& path) {
  const std::string name = std::filesystem::path(canonical(path)).filename();
  if (name.starts_with("libmpi_abi.")) return "standard";
  if (version.find("Open MPI v") != std::string::npos) return "openmpi";
  for (const char* known : {"MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation MPI"})
    if (version.find(known) != std::string::npos) return "mpich";
  return {};
}

const BytewaysMpi* open_mpi_table(const MpiOptions& options, LibraryReport& report, std::string& abi) {
  report.library = "mpi";
  if (!options.simulator.empty()) return open_simulated(options, report);
  if (const std::set<std::string> loaded = loaded_libraries(); loaded.size() > 1) {
    report.reason =
        "this process has loaded two libraries of MPI: " + *loaded.begin() + " and " + *loaded.rbegin();
    report.hint = "start it with one of them";
    return nullptr;
  }
  MpiLauncher launcher = find_mpi_launcher();
  if (launcher.program.empty() && !options.launcher.empty()) {
    launcher.program = options.launcher;
    if (launcher.family.empty()) launcher.family = family_of_program(launcher.program);
  }
  const Library library = open_library(options, launcher, report);
  if (!library) return nullptr;
  if (loaded_libraries().size() > 1) {
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
