// Argument block of the kernels of random access, and the order in which they visit a buffer.
#pragma once
#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"

namespace byteways {

// Independent accesses of a thread in flight.
constexpr unsigned int kRandomInFlight = 4;
constexpr unsigned int kLeastAccessBytes = 4, kMostAccessBytes = 128;
// Numbers of accesses, and on a GPU of pieces of 16 bytes, have 32 bits: the order then takes two
// multiplications of one instruction each.
constexpr unsigned int kMostAccessBits = 32;

// "random_load", "random_store" and "random_update" of a host, and "random_load_8" and others of a device, by
// the bytes of a piece, run `operations` one after another. Each divides its slot of `bytes` into
// 2^access_bits elements and accesses every element once, in the order of random_element(). The slot holds
// words of the pattern of `key`, or gets them. Loads of a device kernel add the number of pieces that they
// found right to *right; a piece is a word, or an element of 4 bytes. Those of a host add the XOR of all
// elements (host_sum.hpp). An update turns pattern_word(k, i) into pattern_word(k + 1, i). A device kernel is
// launched once per operation; the host loops inside one launch.
struct RandomArguments {
  void* data;
  unsigned long long bytes;
  unsigned long long offset;  // device: of this operation's slot
  unsigned long long key;
  unsigned long long first_operation;
  unsigned int access_bytes;  // of an element: a power of two
  unsigned int access_bits;
  unsigned int sharing_bits;  // device: 2^sharing_bits threads move an element together
  unsigned int fence;         // device, stores and updates: 1 if must_fence() (mover.hpp)
  unsigned long long* right;  // of a host: kHostSumWords words
  unsigned long long slots, stride;
  unsigned long long operations;
};

// A bijection of [0, 2^bits), another one for each operation: odd multiplications and xor-shifts are
// invertible modulo 2^bits, so every element is visited once, and no table is needed.
struct RandomOrder {
  static constexpr unsigned int kMultiplier = 0x9E3779B1u;  // 2^32 / golden ratio, as an odd number
  unsigned int factor, offset, mask, half;

  BYTEWAYS_HOST_DEVICE RandomOrder(unsigned long long operation, unsigned int bits) {
    const unsigned long long seed = pattern_word(0xA0761D6478BD642Full, operation);
    factor = static_cast<unsigned int>(seed >> 32) | 1u;
    offset = static_cast<unsigned int>(seed);
    mask = bits >= 32 ? ~0u : (1u << bits) - 1;
    half = bits / 2 > 0 ? bits / 2 : 1;
  }
  BYTEWAYS_HOST_DEVICE unsigned int element(unsigned int access) const {
    unsigned int x = (access * factor + offset) & mask;
    x ^= x >> half;
    x = x * kMultiplier & mask;
    return x ^ (x >> half);
  }
};

// The XOR of all elements of a range, from that of its words.
BYTEWAYS_HOST_DEVICE inline unsigned long long elements_xor(unsigned long long words,
                                                            unsigned int access_bytes) {
  return access_bytes == 4 ? (words ^ words >> 32) & 0xFFFFFFFFull : words;
}

// Half `half` (0: the low one) of a word, as memory holds it: both vendors and all hosts are little-endian.
BYTEWAYS_HOST_DEVICE inline unsigned int half_word(unsigned long long word, unsigned long long half) {
  return static_cast<unsigned int>(word >> (32 * half));
}

// pattern_word(key, index) to pattern_word(key + 1, index), from the word alone: the fold is its own inverse.
BYTEWAYS_HOST_DEVICE inline unsigned long long updated_word(unsigned long long word) {
  const unsigned long long next = (word ^ (word >> 32)) + 0x9E3779B97F4A7C15ull;
  return next ^ (next >> 32);
}

}  // namespace byteways
