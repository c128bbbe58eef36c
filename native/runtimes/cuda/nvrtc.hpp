// NVIDIA's run-time compiler, loaded by dlopen. Kernels are compiled for the exact architecture of the
// device, because a driver that is older than the compiler may reject its PTX.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtimes/gpu/runtime_compiler.hpp"

namespace byteways::cuda {

struct NvrtcTable {
  using Program = struct OpaqueProgram*;
#define BYTEWAYS_TABLE "runtimes/cuda/nvrtc.def"
#include "runtimes/gpu/function_table.inc"
};

// Option besides the architecture.
inline constexpr const char* kNvrtcOption = "-std=c++17";

class Nvrtc final : public gpu::RuntimeCompiler<NvrtcTable> {
 public:
  // `driver_major`: CUDA major version of the driver, 0 without one; compatible compilers are tried first.
  // `simulator`: file to load instead of any NVRTC; empty on a real machine.
  Nvrtc(const std::vector<std::string>& directories, int driver_major, const std::string& simulator = {});

  std::string version() const override { return "nvrtc-" + report_.version + kNvrtcOption; }
  std::string compile(const std::string& file, const std::string& architecture) override;
  // PTX text, for inspection.
  std::string ptx(const std::string& file, const std::string& architecture);

 private:
  std::vector<int> architectures() const;  // supported ones, ascending; empty if unknown
  std::string compile_for(const std::string& file, const std::string& target, const Size& size,
                          const Get& get) const;
};

// PTX of every embedded device source by file name, for `architecture` ("sm_90"). Throws Unsupported, with
// the search path, if there is no usable NVRTC.
std::map<std::string, std::string> compile_kernels(const std::string& architecture,
                                                   const std::vector<std::string>& library_directories);

}  // namespace byteways::cuda
