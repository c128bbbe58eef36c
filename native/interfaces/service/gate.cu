// Holds a stream until the host opens the gate: one thread polls one word of host memory.
#include "interfaces/device/prelude.cuh"
#include "interfaces/service/arguments.hpp"

namespace byteways {

BYTEWAYS_KERNEL(32) gate(GateArguments arguments) {
  if (grid_thread() != 0) return;
  // Each poll is a round trip over PCIe already, so a short pause is sufficient.
  while (load_acquire_system(arguments.word) < arguments.target) pause();
}

}  // namespace byteways
