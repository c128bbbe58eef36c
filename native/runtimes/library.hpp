// Loads vendor libraries at run time and records the search and missing functions. A missing function is
// reported by `doctor` and does not crash the program.
#pragma once
#include <string>
#include <vector>

namespace byteways {

struct MissingFunction {
  std::string name;
  std::string introduced_in;  // vendor version
  bool required = false;
};

struct LibraryReport {
  std::string library;   // "cuda-driver", "nvrtc", "nvml"
  bool usable = false;   // found, initialised, with every required function
  std::string path;      // of the file that was loaded
  std::string found_by;  // "dynamic linker", "BYTEWAYS_LIBCUDA", "Python package", "/usr/local/cuda"
  std::string version;   // as reported by the library
  std::vector<std::string> searched;  // every name tried, in order
  std::vector<MissingFunction> missing;
  std::string reason;  // why it is not usable, in one sentence
  std::string hint;    // what to do about it
};

// An open shared object (RTLD_NOW), never closed: vendor libraries do not survive dlclose.
class Library {
 public:
  // Tries on a simulated machine only `simulator`; else only the value of `override_variable`, if it is set;
  // else each soname through the dynamic linker, first those that this process has loaded; then each soname
  // in each directory. Fills report.path,
  // found_by, searched, and reason when nothing was found.
  static Library open(const std::vector<std::string>& sonames, const std::vector<std::string>& directories,
                      const char* override_variable, const std::string& simulator, LibraryReport& report);
  // One file; `global`: what is loaded later finds its symbols. When it does not open, `broken` gets why,
  // unless the file is simply not there or `broken` has a reason already.
  static Library open_file(const std::string& name, const std::string& found_by, bool global,
                           LibraryReport& report, std::string& broken);
  // The file of this name that the process has loaded; empty without one.
  static std::string loaded_file(const std::string& soname);
  void* symbol(const char* name) const;  // nullptr when missing
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  void* handle_ = nullptr;
};

// What a user calls the folder: the package that was installed, or the folder itself.
std::string origin_of(const std::string& directory);

// Returns the version at the end of the file's real name, as "580.159.04" or "6.2.60204" (libcuda.so.1 and
// libamdhip64.so are links); empty if there is none.
std::string release_of(const std::string& path);

}  // namespace byteways
