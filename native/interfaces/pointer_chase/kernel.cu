// Interface `pointer-chase`: latency of dependent loads along a random cycle through the working set.
#include "interfaces/device/prelude.cuh"
#include "interfaces/pointer_chase/arguments.hpp"

namespace byteways {

__device__ inline Word* line_of(const ChaseArguments& arguments, Word line) {
  return reinterpret_cast<Word*>(static_cast<char*>(arguments.base) + line * arguments.line_bytes);
}
__device__ inline Word address_of(const ChaseArguments& arguments, Word line) {
  return reinterpret_cast<Word>(line_of(arguments, line));
}

BYTEWAYS_KERNEL(512) chase_build(ChaseArguments arguments) {
  for (Word position = grid_thread(); position < arguments.lines; position += grid_threads()) {
    const Word line = chase_line(position, arguments.lines, arguments.key);
    const Word next = chase_line(position + 1, arguments.lines, arguments.key);
    *line_of(arguments, line) = address_of(arguments, next);
  }
  fence_system();
}

template <Word load(const Word*)>
__device__ inline void walk(const ChaseArguments& arguments) {
  if (block_index() != 0 || thread_index() != 0) return;
  Word address = per_lane(address_of(arguments, arguments.start));
#pragma unroll 4
  for (Word step = 0; step < arguments.steps; ++step) address = load(reinterpret_cast<const Word*>(address));
  *arguments.end = (address - address_of(arguments, 0)) / arguments.line_bytes;
}

// Relaxed loads of system scope bypass the multiprocessor's own cache up to the point of coherence. Whether a
// load over a link may hit a cache on this side: see the prelude.
BYTEWAYS_KERNEL(64) chase(ChaseArguments arguments) { walk<load_relaxed_system>(arguments); }

// As multichase and lmbench walk: a small working set is in this multiprocessor's own cache.
BYTEWAYS_KERNEL(64) chase_ordinary(ChaseArguments arguments) { walk<load_ordinary>(arguments); }

}  // namespace byteways
