// NVRTC's entry points on the simulated machine: every row of runtimes/cuda/nvrtc.def. Compiling a source
// produces the list of its kernels (kernels.hpp).
#include "runtimes/cuda/nvrtc.hpp"

#include <cstdlib>

#include "simulator/vendors/api.hpp"
#include "simulator/vendors/compiler.hpp"

#define BYTEWAYS_ENTRY_TABLE "runtimes/cuda/nvrtc.def"

namespace byteways::sim::nvrtc_api {

using Program = cuda::NvrtcTable::Program;
using Source = compiler::Program;

namespace {

Source* source_of(Program program) { return reinterpret_cast<Source*>(program); }

// 90 for a machine with sm_90 GPUs.
int architecture() {
  constexpr std::size_t kPrefix = 3;  // "sm_"
  return std::atoi(world_of("nvidia").model().gpu.architecture.c_str() + kPrefix);
}

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int nvrtcVersion(int* major, int* minor) {
  const int code = answer([&] {
    const int version = world_of("nvidia").model().runtime_version;
    give(major, version / 1000);
    give(minor, version % 1000 / 10);
  });
  return code == 0 ? 0 : compiler::kInvalidInput;
}

const char* nvrtcGetErrorString(int result) {
  switch (result) {
    case 0:
      return "NVRTC_SUCCESS";
    case compiler::kInvalidInput:
      return "NVRTC_ERROR_INVALID_INPUT";
    case compiler::kInvalidProgram:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case compiler::kCompilation:
      return "NVRTC_ERROR_COMPILATION";
    case compiler::kInternalError:
      return "NVRTC_ERROR_INTERNAL_ERROR";
    default:
      return "NVRTC_ERROR unknown";
  }
}

int nvrtcCreateProgram(Program* program, const char* source, const char* name, int, const char* const*,
                       const char* const*) {
  return compiler::create(reinterpret_cast<Source**>(program), source, name);
}
int nvrtcDestroyProgram(Program* program) { return compiler::destroy(reinterpret_cast<Source**>(program)); }
int nvrtcCompileProgram(Program program, int, const char* const*) {
  return compiler::compile(source_of(program));
}

int nvrtcGetPTXSize(Program program, std::size_t* bytes) {
  return compiler::size_of(source_of(program), bytes, &Source::image);
}
int nvrtcGetPTX(Program program, char* to) {
  return compiler::copy_of(source_of(program), to, &Source::image);
}
int nvrtcGetCUBINSize(Program program, std::size_t* bytes) {
  return compiler::size_of(source_of(program), bytes, &Source::image);
}
int nvrtcGetCUBIN(Program program, char* to) {
  return compiler::copy_of(source_of(program), to, &Source::image);
}
int nvrtcGetProgramLogSize(Program program, std::size_t* bytes) {
  return compiler::size_of(source_of(program), bytes, &Source::log);
}
int nvrtcGetProgramLog(Program program, char* to) {
  return compiler::copy_of(source_of(program), to, &Source::log);
}

int nvrtcGetNumSupportedArchs(int* count) {
  return answer([&] {
    world_of("nvidia");
    give(count, 1);  // all GPUs are equal
  });
}
int nvrtcGetSupportedArchs(int* architectures) {
  return answer([&] { give(architectures, architecture()); });
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::nvrtc_api
