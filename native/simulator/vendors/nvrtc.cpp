// NVRTC's entry points on the simulated machine: every row of runtimes/cuda/nvrtc.def.
#include "runtimes/cuda/nvrtc.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include "simulator/vendors/api.hpp"
#include "simulator/vendors/kernels.hpp"

#define BYTEWAYS_ENTRY_TABLE "runtimes/cuda/nvrtc.def"

namespace byteways::sim::nvrtc_api {

using Program = cuda::NvrtcTable::Program;
#define BYTEWAYS_TWIN(nvrtc, hiprtc) nvrtc
#include "simulator/vendors/compiler_twins.inc"

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  const int code = answer([&] {
    const int version = world_of("nvidia").model().runtime_version;
    give(major, version / 1000);
    give(minor, version % 1000 / 10);
  });
  return code == 0 ? 0 : kInvalidInput;
}

int nvrtcGetPTXSize(Program program, std::size_t* bytes) { return size_of(program, bytes, &Source::image); }
int nvrtcGetPTX(Program program, char* to) { return copy_of(program, to, &Source::image); }
int nvrtcGetCUBINSize(Program program, std::size_t* bytes) { return size_of(program, bytes, &Source::image); }
int nvrtcGetCUBIN(Program program, char* to) { return copy_of(program, to, &Source::image); }

int nvrtcGetNumSupportedArchs(int* count) {
  return answer([&] {
    world_of("nvidia");
    give(count, 1);  // all GPUs are equal
  });
}
int nvrtcGetSupportedArchs(int* architectures) {  // 90 for a machine with sm_90 GPUs
  return answer([&] {
    const std::string& name = world_of("nvidia").model().gpu.architecture;
    give(architectures, std::atoi(name.c_str() + std::strlen("sm_")));
  });
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::nvrtc_api
