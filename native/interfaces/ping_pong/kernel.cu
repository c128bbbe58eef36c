// Interface `ping-pong`: one thread that sends a number and waits for the answer, or the reverse.
#include "interfaces/device/prelude.cuh"
#include "interfaces/ping_pong/arguments.hpp"

namespace byteways {

// Polls between readings of the clock: an answer arrives after fewer, so the clock does not affect results.
constexpr unsigned int kLooksPerClock = 1024;

// Whether the number arrived.
__device__ inline bool awaited(const PingPongArguments& arguments, Word number) {
  Word since = 0;
  for (unsigned int look = 1;; ++look) {
    if (load_acquire_system(arguments.polls) == number) return true;
    if (look % kLooksPerClock != 0) continue;
    const Word now = clock_nanoseconds();
    if (since == 0) since = now;
    if (now - since > arguments.patience_ns) return false;
  }
}

BYTEWAYS_KERNEL(64) ping_pong(PingPongArguments arguments) {
  if (block_index() != 0 || thread_index() != 0) return;
  Word round = 0;
  for (; round < arguments.rounds; ++round) {
    const Word number = arguments.first + round + 1;
    if (arguments.leads != 0) store_release_system(arguments.writes, number);
    if (!awaited(arguments, number)) break;
    if (arguments.leads == 0) store_release_system(arguments.writes, number);
  }
  atomic_store(arguments.rounds_done, round);
}

}  // namespace byteways
