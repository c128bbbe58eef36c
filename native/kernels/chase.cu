// Interface `chase`: the latency of dependent loads along a random cycle through the working set.
#include "prelude.cuh"

namespace byteways {

__device__ inline Word address_of(const ChaseArguments& arguments, Word line) {
  return reinterpret_cast<Word>(arguments.base) + line * arguments.line_bytes;
}

BYTEWAYS_KERNEL(512) chase_build(ChaseArguments arguments) {
  for (Word position = grid_thread(); position < arguments.lines; position += grid_threads()) {
    const Word line = chase_line(position, arguments.lines, arguments.key);
    const Word next = chase_line(position + 1, arguments.lines, arguments.key);
    *reinterpret_cast<Word*>(address_of(arguments, line)) = address_of(arguments, next);
  }
  fence_system();
}

// Relaxed loads of system scope: each goes past the multiprocessor's own cache to where the memory is
// coherent, so a step over a link is never answered by a copy on this side of it.
BYTEWAYS_KERNEL(64) chase(ChaseArguments arguments) {
  if (block_index() != 0 || thread_index() != 0) return;
  // The index of the lane keeps AMD's compiler from loading a uniform address as a scalar, through another
  // cache.
  Word address = address_of(arguments, arguments.start + thread_index());
#pragma unroll 4
  for (Word step = 0; step < arguments.steps; ++step)
    address = load_relaxed_system(reinterpret_cast<const Word*>(address));
  *arguments.end = (address - address_of(arguments, 0)) / arguments.line_bytes;
  fence_system();
}

}  // namespace byteways
