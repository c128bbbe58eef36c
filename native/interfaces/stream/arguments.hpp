// Argument blocks of the STREAM kernels, and what they compute.
#pragma once
#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"

namespace byteways {

// What the STREAM kernels do with each word, a double: c = a, s·a, a + b, a + s·b (J. D. McCalpin, STREAM).
enum StreamOperation : unsigned int { kStreamCopy, kStreamScale, kStreamAdd, kStreamTriad };

// "stream_copy", "stream_scale", "stream_add", "stream_triad": destination = operation(first, second) over
// arrays of `bytes`; `operations` in turn, each on its slot of all arrays. Device kernels are launched once
// an operation; the host loops inside one launch.
struct StreamArguments {
  const void* first;
  const void* second;  // copy and scale leave it alone
  void* destination;
  unsigned long long bytes;  // of one array
  unsigned long long slots, stride;
  unsigned long long first_operation;
  unsigned long long operations;
  unsigned int fence;  // device: 1 when stores go to another device, where they must arrive before the end
};

// "stream_fill" writes doubles of pattern `key`; "stream_check" compares with what the operation makes of the
// patterns `key` and `second_key`.
struct StreamPatternArguments {
  unsigned long long* words;
  unsigned long long count;
  unsigned long long key, second_key;
  unsigned long long first_index;
  unsigned int operation;
  CheckResult* result;  // check only
};

inline constexpr double kStreamScalar = 3;  // as STREAM has it

// A double of the pattern as its bits: in [1, 2) with 50 bits of fraction. All that the four operations make
// of such doubles is exact, so there is one right answer whether a compiler fuses multiplication and addition
// or not.
BYTEWAYS_HOST_DEVICE inline unsigned long long stream_word(unsigned long long pattern) {
  return 0x3FF0000000000000ull | (pattern >> 12 & ~3ull);
}

// The operation on doubles that are given by their bits.
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

// Word i of the result of an operation on sources that hold the patterns `key` and `second_key`.
BYTEWAYS_HOST_DEVICE inline unsigned long long stream_expected(unsigned int operation, unsigned long long key,
                                                               unsigned long long second_key,
                                                               unsigned long long index) {
  return stream_result(operation, stream_word(pattern_word(key, index)),
                       stream_word(pattern_word(second_key, index)));
}

}  // namespace byteways
