// hipRTC over NVRTC: every function of hiprtc.def, the other part of the façade (hip_over_cuda.cpp).
#include <string>
#include <type_traits>

#include "facade.hpp"
#include "runtimes/cuda/nvrtc.hpp"
#include "runtimes/hip/hiprtc.hpp"

#pragma GCC visibility push(default)

namespace {

using byteways::Library;
using byteways::LibraryReport;
using byteways::cuda::CudaTable;
using byteways::cuda::NvrtcTable;
using Program = byteways::hip::HiprtcTable::Program;
using facade::cuda;
using facade::handle;
using facade::kArchitecture;

}  // namespace

// As in hip_over_cuda.cpp: what differs does not compile, what is left out does not link.
extern "C" {
#define BYTEWAYS_FUNCTION(member, symbol, introduced_in, requirement, signature) \
  std::type_identity_t<signature> symbol;
#include "runtimes/hip/hiprtc.def"
#undef BYTEWAYS_FUNCTION
}
extern const void* const facade_compiler_functions[];
const void* const facade_compiler_functions[] = {
#define BYTEWAYS_FUNCTION(member, symbol, introduced_in, requirement, signature) \
  reinterpret_cast<const void*>(&symbol),
#include "runtimes/hip/hiprtc.def"
#undef BYTEWAYS_FUNCTION
};

namespace {

struct Nvrtc : NvrtcTable {
  Nvrtc() {
    LibraryReport report;
    bind(
        Library::open({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, {}, "FACADE_LIBNVRTC", {}, report),
        report);
  }
};

Nvrtc& nvrtc() {
  static Nvrtc compiler;
  return compiler;
}

}  // namespace

extern "C" {

int hiprtcVersion(int* major, int* minor) {  // what every hipRTC answers
  *major = 9;
  *minor = 0;
  return 0;
}
const char* hiprtcGetErrorString(int code) { return nvrtc().get_error_string(code); }
PASS_ON(hiprtcCreateProgram, nvrtc(), create_program,
        (Program * program, const char* source, const char* name, int headers, const char* const* texts,
         const char* const* names),
        program, source, name, headers, texts, names)
PASS_ON(hiprtcDestroyProgram, nvrtc(), destroy_program, (Program * program), program)

// For the GPU that is there, whatever architecture was asked for.
int hiprtcCompileProgram(Program program, int count, const char* const* options) {
  constexpr int kInvalidOption = 5;  // HIPRTC_ERROR_INVALID_OPTION
  if (count != 3 || std::string(options[0]) != std::string("--offload-arch=") + kArchitecture)
    return kInvalidOption;
  int major = 0, minor = 0;
  if (cuda().device_attribute(&major, CudaTable::kDeviceCapabilityMajor, handle(0)) != 0 ||
      cuda().device_attribute(&minor, CudaTable::kDeviceCapabilityMinor, handle(0)) != 0)
    return kInvalidOption;
  const std::string target = "--gpu-architecture=sm_" + std::to_string(10 * major + minor);
  const char* const translated[] = {target.c_str(), "--std=c++17"};
  return facade::passed_on(nvrtc().compile_program, program, 2, translated);
}

PASS_ON(hiprtcGetCodeSize, nvrtc(), get_cubin_size, (Program program, std::size_t* bytes), program, bytes)
PASS_ON(hiprtcGetCode, nvrtc(), get_cubin, (Program program, char* code), program, code)
PASS_ON(hiprtcGetProgramLogSize, nvrtc(), get_log_size, (Program program, std::size_t* bytes), program, bytes)
PASS_ON(hiprtcGetProgramLog, nvrtc(), get_log, (Program program, char* log), program, log)

}  // extern "C"

#pragma GCC visibility pop
