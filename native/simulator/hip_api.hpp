// What the files of the simulated HIP runtime share: the machine, the current GPU, and GPUs by ordinal.
// Functions throw Refusal.
#pragma once
#include "runtimes/hip/driver.hpp"
#include "simulator/world.hpp"

namespace byteways::sim::hip_api {

struct Hip {
  using Table = hip::HipTable;
  static World& world();
  static int current_gpu();
  static int gpu_of(int device);
  // Local data share of a CDNA compute unit (CDNA 2 and 3 ISA guides).
  static constexpr int kSharedBytes = 64 << 10;
};

}  // namespace byteways::sim::hip_api
