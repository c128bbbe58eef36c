// Holds a stream back until the host opens the gate: one thread watches one word of host memory.
#include "interfaces/device/prelude.cuh"
#include "interfaces/service/arguments.hpp"

namespace byteways {

BYTEWAYS_KERNEL(32) gate(GateArguments arguments) {
  if (grid_thread() != 0) return;
  // Each look costs a round trip over PCIe already, so the pause only has to be short.
  while (load_acquire_system(arguments.word) < arguments.target) pause();
}

}  // namespace byteways
