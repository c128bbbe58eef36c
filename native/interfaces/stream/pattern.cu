// The data that prove a STREAM kernel: sources of doubles that follow the pattern, and the check of every
// result.
#include "interfaces/device/finding.cuh"
#include "interfaces/stream/arguments.hpp"

namespace byteways {

BYTEWAYS_KERNEL(512) stream_fill(StreamPatternArguments arguments) {
  for (Word i = grid_thread(); i < arguments.count; i += grid_threads())
    arguments.words[i] = stream_word(pattern_word(arguments.key, arguments.first_index + i));
  fence_system();
}

__device__ inline Word expected_at(const StreamPatternArguments& arguments, Word i) {
  return stream_expected(arguments.operation, arguments.key, arguments.second_key, arguments.first_index + i);
}

BYTEWAYS_KERNEL(512) stream_check(StreamPatternArguments arguments) { check_words(arguments); }

}  // namespace byteways
