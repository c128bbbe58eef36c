// Argument block of the kernel that only reads, and the sum that it must produce.
#pragma once
#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"

namespace byteways {

// "load", and on a GPU "load_resident" with more loads of a thread in flight: runs `operations` one after
// another. Each adds a figure of its slot of `bytes` to *sum: a device kernel the sum of load_word() over all
// words, the host the XOR of all words (host_sum.hpp). A device kernel is launched once per operation; the
// host loops inside one launch.
struct LoadArguments {
  const void* data;
  unsigned long long bytes;
  unsigned long long offset;  // device: of this operation's slot
  unsigned long long* sum;    // of a host: kHostSumWords words
  unsigned long long slots, stride;
  unsigned long long first_operation;
  unsigned long long operations;
  unsigned long long key;  // of the data; only the simulator reads it
};

// Reverses the fold of pattern_word(), so that the sum of a range has a closed form.
BYTEWAYS_HOST_DEVICE inline unsigned long long load_word(unsigned long long word) {
  return word ^ (word >> 32);
}

// Returns the sum of load_word() over `count` words of the pattern, from index `first` on, modulo 2^64.
BYTEWAYS_HOST_DEVICE inline unsigned long long load_sum(unsigned long long key, unsigned long long first,
                                                        unsigned long long count) {
  // One of count and count - 1 is even. It is halved before the product, which could overflow.
  const unsigned long long pairs = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
  return (count * (key + first) + pairs) * 0x9E3779B97F4A7C15ull;
}

}  // namespace byteways
