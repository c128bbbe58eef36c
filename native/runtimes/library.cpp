// See library.hpp.
#include "runtimes/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <cstdlib>

namespace byteways {
namespace {

std::string loaded_path(void* handle, const std::string& asked_for) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0')
    return map->l_name;
  return asked_for;
}

bool is_loaded(const std::string& soname) {
  void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

// What a user calls the place of a file that was opened by its soname.
std::string opened_from(const std::string& path, const std::vector<std::string>& directories) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const std::string& directory : directories)
    if (directory + "/" == folder) return origin_of(directory);
  return "dynamic linker";
}

// The dynamic linker's text for a missing file; other texts mean that an existing file does not load.
bool is_absent(const std::string& text, const std::string& name) {
  return text == name + ": cannot open shared object file: No such file or directory";
}

}  // namespace

std::string origin_of(const std::string& directory) {
  if (directory.find("/site-packages/") != std::string::npos ||
      directory.find("/dist-packages/") != std::string::npos)
    return "Python package";
  return directory;
}

Library Library::open_file(const std::string& name, const std::string& found_by, bool global,
                           LibraryReport& report, std::string& broken) {
  Library library;
  report.searched.push_back(name);
  library.handle_ = dlopen(name.c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (library.handle_ != nullptr) {
    report.path = loaded_path(library.handle_, name);
    report.found_by = found_by;
    return library;
  }
  const char* text = dlerror();
  if (text != nullptr && broken.empty() && !is_absent(text, name)) broken = text;
  return library;
}

Library Library::open(const std::vector<std::string>& sonames, const std::vector<std::string>& directories,
                      const char* override_variable, const std::string& simulator, LibraryReport& report) {
  Library library;
  std::string broken;  // an existing file that does not load is more informative than a missing one
  const auto attempt = [&](const std::string& name, const std::string& found_by) {
    library = open_file(name, found_by, false, report, broken);
    return static_cast<bool>(library);
  };

  if (!simulator.empty()) {
    if (!attempt(simulator, "simulated"))
      report.reason = broken.empty() ? "the simulator is not there: " + simulator
                                     : "the simulator does not load: " + broken;
    return library;
  }
  const char* chosen = std::getenv(override_variable);
  if (chosen != nullptr && *chosen != '\0') {
    if (attempt(chosen, override_variable)) return library;
    report.reason =
        broken.empty()
            ? std::string(override_variable) + " names a file that is not there: " + chosen
            : "the file that " + std::string(override_variable) + " names does not load: " + broken;
    report.hint = "unset " + std::string(override_variable) + ", or let it name the library file";
    return library;
  }
  // Two copies in one process, as of MPI's GPU transport and of ours, do not know each other's memory.
  for (const bool loaded : {true, false})
    for (const std::string& soname : sonames)
      if (is_loaded(soname) == loaded && attempt(soname, "dynamic linker")) {
        report.found_by = opened_from(report.path, directories);
        return library;
      }
  for (const std::string& directory : directories)
    for (const std::string& soname : sonames)
      if (attempt(directory + "/" + soname, origin_of(directory))) return library;
  if (!broken.empty())
    report.reason = "found, but it does not load: " + broken;
  else
    report.reason =
        "not found: the dynamic linker does not know " + sonames.front() +
        (directories.empty() ? ""
                             : ", nor is it in " + std::to_string(directories.size()) + " other folders");
  return library;
}

std::string Library::loaded_file(const std::string& soname) {
  void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return {};
  dlclose(handle);  // it stays loaded, so that its handle stays valid
  return loaded_path(handle, soname);
}

void* Library::symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

std::string release_of(const std::string& path) {
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr) return {};
  const std::string name = resolved;
  const std::size_t at = name.rfind(".so.");
  const std::string release = at == std::string::npos ? std::string() : name.substr(at + 4);
  return release.find('.') == std::string::npos ? std::string() : release;
}

}  // namespace byteways
