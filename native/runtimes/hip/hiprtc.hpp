// AMD's run-time compiler, in the HIP runtime's library or a separate one. Kernels are compiled for the exact
// architecture of the device with its features ("gfx90a:sramecc+:xnack-").
#pragma once
#include <string>
#include <vector>

#include "runtimes/gpu/runtime_compiler.hpp"

namespace byteways::hip {

struct HiprtcTable {
  using Program = struct OpaqueProgram*;
#define BYTEWAYS_TABLE "runtimes/hip/hiprtc.def"
#include "runtimes/gpu/function_table.inc"
};

// Path of the HIP runtime, and the result of hipRuntimeGetVersion (0: none).
struct HipLibrary {
  Library library;
  std::string path;
  int version = 0;
};

// "6.2" for 60241134: hipRuntimeGetVersion returns major * 10^7 + minor * 10^5 + patch.
std::string version_text(int version);

// Options besides the architecture.
inline constexpr const char* kHiprtcOptions[] = {"-O3", "-std=c++17"};

class Hiprtc final : public gpu::RuntimeCompiler<HiprtcTable> {
 public:
  // hipRTC 5 terminates the process if it does not know an architecture (observed with 5.2.3 on gfx942). So
  // in a worker it compiles only what every version knows; a separate process may try all.
  enum class Place { worker, own_process };

  // `simulator`: file to load instead of any library; empty on a real machine.
  Hiprtc(const HipLibrary& hip, const std::vector<std::string>& directories, Place place,
         const std::string& simulator = {});

  std::string version() const override {
    return "hiprtc-" + report_.version + kHiprtcOptions[0] + kHiprtcOptions[1];
  }
  std::string compile(const std::string& file, const std::string& architecture) override;

 private:
  void find(const HipLibrary& hip, const std::vector<std::string>& directories, const std::string& simulator);

  Place place_;
};

// Compiles every device source for `architecture` into `cache_folder`, for workers to load; call it in a
// process that may be terminated. Throws Unsupported if there is no usable hipRTC or it rejects a source.
void compile_kernels(const std::string& architecture, const std::string& cache_folder,
                     const std::vector<std::string>& library_directories);

// The HIP runtime's library, or an empty one; fills the report like Library::open.
Library open_library(const std::vector<std::string>& directories, const std::string& simulator,
                     LibraryReport& report);

}  // namespace byteways::hip
