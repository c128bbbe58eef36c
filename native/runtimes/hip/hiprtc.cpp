// See hiprtc.hpp.
#include "runtimes/hip/hiprtc.hpp"

#include <cstdlib>

namespace byteways::hip {
namespace {

constexpr const char* kHint =
    "install ROCm's hiprtc (libhiprtc.so; Debian: libamdhip64-5), or set BYTEWAYS_LIBHIPRTC to its file";
constexpr const char* kOverride = "BYTEWAYS_LIBHIPRTC";

// From this version on, an unknown architecture is an error with a log; observed with 6.4.3.
constexpr int kReportsUnknownArchitectures = 6;

// Architectures that hipRTC 5 compiles; tested with 5.2.3.
bool is_old_architecture(const std::string& architecture) {
  const std::string name = architecture.substr(0, architecture.find(':'));
  return name == "gfx90a" || name == "gfx908";
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 10'000'000) + "." + std::to_string(version / 100'000 % 100);
}

Library open_library(const std::vector<std::string>& directories, const std::string& simulator,
                     LibraryReport& report) {
  return Library::open({"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
                       directories, "BYTEWAYS_LIBHIP", simulator, report);
}

Hiprtc::Hiprtc(const HipLibrary& hip, const std::vector<std::string>& directories, Place place,
               const std::string& simulator)
    : RuntimeCompiler("hiprtc", "hipRTC"), place_(place) {
  find(hip, directories, simulator);
  if (report_.path.empty()) {
    if (report_.hint.empty()) report_.hint = kHint;
    return;
  }
  // hiprtcVersion returns 9.0 in every release examined, so use the file's name, or the version of the
  // runtime that it came with.
  report_.version = release_of(report_.path);
  if (report_.version.empty() && hip.version > 0) report_.version = version_text(hip.version);
  report_.usable = gpu::complete(report_);
  if (!report_.usable) report_.hint = kHint;
}

void Hiprtc::find(const HipLibrary& hip, const std::vector<std::string>& directories,
                  const std::string& simulator) {
  const char* chosen = std::getenv(kOverride);
  // The runtime's own library comes from the same build that loads its code objects.
  if (simulator.empty() && (chosen == nullptr || *chosen == '\0') &&
      hip.library.symbol("hiprtcCreateProgram") != nullptr) {
    report_.path = hip.path;
    report_.found_by = "HIP runtime";
    report_.searched.push_back(hip.path);
    table_.bind(hip.library, report_);
    return;
  }
  std::vector<std::string> sonames{"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5"};
  if (hip.version > 0)
    sonames.insert(sonames.begin(), "libhiprtc.so." + std::to_string(hip.version / 10'000'000));
  const Library library = Library::open(sonames, directories, kOverride, simulator, report_);
  if (library) table_.bind(library, report_);
}

std::string Hiprtc::compile(const std::string& file, const std::string& architecture) {
  const int major = std::atoi(report_.version.c_str());
  if (place_ == Place::worker && major < kReportsUnknownArchitectures && !is_old_architecture(architecture))
    throw Unsupported("hipRTC", architecture,
                      "hipRTC " + (report_.version.empty() ? "of an unknown version" : report_.version) +
                          " may end the process that asks it for " + architecture +
                          ", and no other process has compiled " + file +
                          " into the cache; ROCm 6 or later helps");
  const std::string target = "--offload-arch=" + architecture;
  return build(file, architecture, {target.c_str(), kHiprtcOptions[0], kHiprtcOptions[1]},
               table_.get_code_size, table_.get_code);
}

}  // namespace byteways::hip
