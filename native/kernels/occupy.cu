// Keeps every multiprocessor busy, so that a transfer that completes meanwhile was not done by any of them.
#include "prelude.cuh"

namespace byteways {

BYTEWAYS_KERNEL(1024) occupy(OccupyArguments arguments) {
  if (thread_index() == 0) {
    atomic_add(arguments.running, 1u);
    fence_system();
    while (load_acquire_system(arguments.word) < arguments.target) pause();
  }
  synchronize_block();  // the other threads hold their place until then
}

}  // namespace byteways
