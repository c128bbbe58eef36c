// What a check finds: how many words are wrong, and of the first of them what was expected and what is there.
// A check brings its arguments, with `words`, `count` and `result`, and expected_at(arguments, i).
#pragma once
#include "interfaces/device/prelude.cuh"

namespace byteways {

// Of one thread.
struct Finding {
  Word bad_count = 0;
  Word first_bad = ~Word{0};
  __device__ void compare(Word i, Word got, Word expected) {
    if (got == expected) return;
    ++bad_count;
    if (i < first_bad) first_bad = i;
  }
};

// The thread that lowers first_bad writes what was expected and got there, then looks whether another thread
// has lowered it further meanwhile, and if so writes that one's. With a sequentially consistent fence between
// writing and looking, the last writer cannot have missed the smallest index.
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
    index = atomic_minimum(&result->first_bad, ~Word{0});  // changes nothing: an atomic look
  } while (index != written);
}

// Word by word.
template <class Arguments>
__device__ void check_words(const Arguments& arguments) {
  Finding finding;
#pragma unroll 4
  for (Word i = grid_thread(); i < arguments.count; i += grid_threads())
    finding.compare(i, arguments.words[i], expected_at(arguments, i));
  report(arguments, finding);
}

}  // namespace byteways
