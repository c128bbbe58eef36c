// The pause between two operations of a flow: holds its queue for a given time, using almost no other
// resources.
#include "interfaces/device/prelude.cuh"
#include "interfaces/service/arguments.hpp"

namespace byteways {

BYTEWAYS_KERNEL(64) idle(IdleArguments arguments) {
  if (block_index() != 0 || thread_index() != 0) return;
  const Word begin = clock_nanoseconds();
  while (clock_nanoseconds() - begin < arguments.nanoseconds) pause();
}

}  // namespace byteways
