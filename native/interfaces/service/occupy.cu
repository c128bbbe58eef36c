// Keeps every multiprocessor busy, so that a transfer that completes meanwhile was not done by any of them.
#include "interfaces/device/prelude.cuh"
#include "interfaces/service/arguments.hpp"

namespace byteways {

// Multiprocessors hold 1,536 or 2,048 threads: blocks of 512 fill both, where those of 1,024 leave room in
// one.
BYTEWAYS_KERNEL(512) occupy(OccupyArguments arguments) {
  if (thread_index() == 0) {
    atomic_add(arguments.running, 1u);
    fence_system();
    // Many blocks look at one word of host memory: seldom, or their looking is the load on the link.
    while (load_acquire_system(arguments.word) < arguments.target) pause_long();
  }
  synchronize_block();  // the other threads hold their place until then
}

}  // namespace byteways
