// The data that proves a STREAM kernel: sources of doubles that follow the pattern, and the check of every
// result against what the operation makes of them.
#include "prelude.cuh"

namespace byteways {

BYTEWAYS_KERNEL(512) stream_fill(StreamPatternArguments arguments) {
  for (Word i = grid_thread(); i < arguments.count; i += grid_threads())
    arguments.words[i] = stream_word(pattern_word(arguments.key, arguments.first_index + i));
  fence_system();
}

__device__ inline Word expected_at(const StreamPatternArguments& arguments, Word i) {
  return stream_expected(arguments.operation, arguments.key, arguments.second_key, arguments.first_index + i);
}

// As the kernel `check` does it: whoever lowers first_bad writes what belongs to it, and looks again.
BYTEWAYS_KERNEL(512) stream_check(StreamPatternArguments arguments) {
  Word bad = 0, first_bad = ~Word{0};
#pragma unroll 4
  for (Word i = grid_thread(); i < arguments.count; i += grid_threads()) {
    if (arguments.words[i] == expected_at(arguments, i)) continue;
    ++bad;
    if (i < first_bad) first_bad = i;
  }
  if (bad == 0) return;
  CheckResult* result = arguments.result;
  atomic_add(&result->bad_count, bad);
  if (atomic_minimum(&result->first_bad, first_bad) <= first_bad) return;
  Word index = first_bad, written;
  do {
    written = index;
    fence_sequential();
    atomic_store(&result->expected, expected_at(arguments, written));
    atomic_store(&result->got, arguments.words[written]);
    fence_sequential();
    index = atomic_minimum(&result->first_bad, ~Word{0});
  } while (index != written);
}

}  // namespace byteways
