// hipRTC's entry points on the simulated machine: every row of runtimes/hip/hiprtc.def.
#include "runtimes/hip/hiprtc.hpp"

#include <cstring>
#include <string>

#include "simulator/vendors/api.hpp"
#include "simulator/vendors/kernels.hpp"

#define BYTEWAYS_ENTRY_TABLE "runtimes/hip/hiprtc.def"

namespace byteways::sim::hiprtc_api {

using Program = hip::HiprtcTable::Program;
#define BYTEWAYS_TWIN(nvrtc, hiprtc) hiprtc
#include "simulator/vendors/compiler_twins.inc"

extern "C" {

// The runtime's version, 50422801 for HIP 5.4: both are released together.
int hiprtcVersion(int* major, int* minor) {
  const int code = answer([&] {
    const int version = world_of("amd").model().runtime_version;
    give(major, version / 10'000'000);
    give(minor, version / 100'000 % 100);
  });
  return code == 0 ? 0 : kInvalidInput;
}

int hiprtcGetCodeSize(Program program, std::size_t* bytes) { return size_of(program, bytes, &Source::image); }
int hiprtcGetCode(Program program, char* to) { return copy_of(program, to, &Source::image); }

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::hiprtc_api
