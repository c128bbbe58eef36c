// Reports wrong words: their number, and the expected and found value of the first. A check supplies its
// arguments, with `words`, `count` and `result`, and a function expected_at(arguments, i).
#pragma once
#include "interfaces/device/prelude.cuh"

namespace byteways {

// Result of one thread.
struct Finding {
  Word bad_count = 0;
  Word first_bad = ~Word{0};
  __device__ void compare(Word i, Word got, Word expected) {
    if (got == expected) return;
    ++bad_count;
    if (i < first_bad) first_bad = i;
  }
};

// The thread that lowers first_bad writes the expected and the found value of that word. It then reads
// first_bad again; if another thread has lowered it meanwhile, it writes the values of that index. The
// sequentially consistent fence between write and read ensures that the last writer sees the smallest index.
template <class Arguments>
__device__ void report(const Arguments& arguments, const Finding& finding) {
  if (finding.bad_count == 0) return;
  CheckResult* result = arguments.result;
  atomic_add(&result->bad_count, finding.bad_count);
  if (atomic_minimum(&result->first_bad, finding.first_bad) <= finding.first_bad) return;
  Word index = finding.first_bad, written;
  do {
    written = index;
    fence_sequential();
    atomic_store(&result->expected, expected_at(arguments, written));
    atomic_store(&result->got, arguments.words[written]);
    fence_sequential();
    index = atomic_minimum(&result->first_bad, ~Word{0});  // changes nothing: an atomic read
  } while (index != written);
}

// Checks one word at a time.
template <class Arguments>
__device__ void check_words(const Arguments& arguments) {
  Finding finding;
#pragma unroll 4
  for (Word i = grid_thread(); i < arguments.count; i += grid_threads())
    finding.compare(i, arguments.words[i], expected_at(arguments, i));
  report(arguments, finding);
}

}  // namespace byteways
