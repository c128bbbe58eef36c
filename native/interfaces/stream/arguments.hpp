// Argument blocks of the STREAM kernels, and the operations that they compute.
#pragma once
#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"

namespace byteways {

// Operation of a STREAM kernel on each word, a double: c = a, s·a, a + b, a + s·b (J. D. McCalpin, STREAM).
enum StreamOperation : unsigned int { kStreamCopy, kStreamScale, kStreamAdd, kStreamTriad };

// "stream_copy", "stream_scale", "stream_add", "stream_triad": destination = operation(first, second) over
// arrays of `bytes`; `operations` run one after another, each on its slot of all arrays. A device kernel is
// launched once per operation; the host loops inside one launch.
struct StreamArguments {
  const void* first;
  const void* second;  // not used by copy and scale
  void* destination;
  unsigned long long bytes;   // of one array
  unsigned long long offset;  // device: of this operation's slot
  unsigned int fence;         // device: 1 if must_fence() (mover.hpp)
  unsigned long long slots, stride;
  unsigned long long first_operation;
  unsigned long long operations;
};

// "stream_fill" writes doubles of pattern `key`; "stream_check" compares with the result of the operation on
// the patterns `key` and `second_key`.
struct StreamPatternArguments {
  unsigned long long* words;
  unsigned long long count;
  unsigned long long key, second_key;
  unsigned long long first_index;
  unsigned int operation;
  CheckResult* result;  // check only
};

inline constexpr double kStreamScalar = 3;  // the value in STREAM

// Returns the bits of a pattern double in [1, 2) with 50 bits of fraction. All four operations are exact on
// such doubles, so the result does not depend on whether a compiler fuses multiplication and addition.
BYTEWAYS_HOST_DEVICE inline unsigned long long stream_word(unsigned long long pattern) {
  return 0x3FF0000000000000ull | (pattern >> 12 & ~3ull);
}

// Applies the operation to doubles that are given by their bits.
BYTEWAYS_HOST_DEVICE inline unsigned long long stream_result(unsigned int operation, unsigned long long first,
                                                             unsigned long long second) {
  union Double {
    unsigned long long bits;
    double value;
  };
  Double a, b;
  a.bits = first;
  b.bits = second;
  if (operation == kStreamScale) a.value = kStreamScalar * a.value;
  if (operation == kStreamAdd) a.value = a.value + b.value;
  if (operation == kStreamTriad) a.value = a.value + kStreamScalar * b.value;
  return a.bits;
}

// Returns word i of the result of an operation on the patterns `key` and `second_key`.
BYTEWAYS_HOST_DEVICE inline unsigned long long stream_expected(unsigned int operation, unsigned long long key,
                                                               unsigned long long second_key,
                                                               unsigned long long index) {
  return stream_result(operation, stream_word(pattern_word(key, index)),
                       stream_word(pattern_word(second_key, index)));
}

}  // namespace byteways
