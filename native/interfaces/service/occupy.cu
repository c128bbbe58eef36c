// Keeps every multiprocessor busy, so that a transfer that completes meanwhile used none of them.
#include "interfaces/device/prelude.cuh"
#include "interfaces/service/arguments.hpp"

namespace byteways {

// Multiprocessors hold 1,536 or 2,048 threads: blocks of 512 fill both; blocks of 1,024 would leave room in
// one.
BYTEWAYS_KERNEL(512) occupy(OccupyArguments arguments) {
  if (thread_index() == 0) {
    atomic_add(arguments.running, 1u);
    fence_system();
    // Many blocks poll one word of host memory: seldom, otherwise the polling loads the link.
    while (load_acquire_system(arguments.word) < arguments.target) pause_long();
  }
  synchronize_block();  // the other threads stay resident until then
}

}  // namespace byteways
