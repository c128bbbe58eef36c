// hipRTC's entry points on the simulated machine: every row of runtimes/hip/hiprtc.def. Compiling a source
// produces the list of its kernels (kernels.hpp).
#include "runtimes/hip/hiprtc.hpp"

#include "simulator/vendors/api.hpp"
#include "simulator/vendors/compiler.hpp"

#define BYTEWAYS_ENTRY_TABLE "runtimes/hip/hiprtc.def"

namespace byteways::sim::hiprtc_api {

using Program = hip::HiprtcTable::Program;
using Source = compiler::Program;

namespace {

Source* source_of(Program program) { return reinterpret_cast<Source*>(program); }

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

// The runtime's version, 50422801 for HIP 5.4: both are released together.
int hiprtcVersion(int* major, int* minor) {
  const int code = answer([&] {
    const int version = world_of("amd").model().runtime_version;
    give(major, version / 10'000'000);
    give(minor, version / 100'000 % 100);
  });
  return code == 0 ? 0 : compiler::kInvalidInput;
}

const char* hiprtcGetErrorString(int result) {
  switch (result) {
    case 0:
      return "HIPRTC_SUCCESS";
    case compiler::kInvalidInput:
      return "HIPRTC_ERROR_INVALID_INPUT";
    case compiler::kInvalidProgram:
      return "HIPRTC_ERROR_INVALID_PROGRAM";
    case compiler::kCompilation:
      return "HIPRTC_ERROR_COMPILATION";
    case compiler::kInternalError:
      return "HIPRTC_ERROR_INTERNAL_ERROR";
    default:
      return "HIPRTC_ERROR unknown";
  }
}

int hiprtcCreateProgram(Program* program, const char* source, const char* name, int, const char* const*,
                        const char* const*) {
  return compiler::create(reinterpret_cast<Source**>(program), source, name);
}
int hiprtcDestroyProgram(Program* program) { return compiler::destroy(reinterpret_cast<Source**>(program)); }
int hiprtcCompileProgram(Program program, int, const char* const*) {
  return compiler::compile(source_of(program));
}

int hiprtcGetCodeSize(Program program, std::size_t* bytes) {
  return compiler::size_of(source_of(program), bytes, &Source::image);
}
int hiprtcGetCode(Program program, char* to) {
  return compiler::copy_of(source_of(program), to, &Source::image);
}
int hiprtcGetProgramLogSize(Program program, std::size_t* bytes) {
  return compiler::size_of(source_of(program), bytes, &Source::log);
}
int hiprtcGetProgramLog(Program program, char* to) {
  return compiler::copy_of(source_of(program), to, &Source::log);
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::hiprtc_api
