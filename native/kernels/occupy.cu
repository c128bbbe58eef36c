// Keeps every multiprocessor busy, so that a transfer that completes meanwhile was not done by any of them.
#include "prelude.cuh"

namespace byteways {

BYTEWAYS_KERNEL(1024) occupy(OccupyArguments arguments) {
  if (thread_index() == 0) {
    atomic_add(arguments.running, 1u);
    fence_system();
    // Many blocks look at one word of host memory: seldom, or their looking is the load on the link.
    while (load_acquire_system(arguments.word) < arguments.target) pause_long();
  }
  synchronize_block();  // the other threads hold their place until then
}

}  // namespace byteways
