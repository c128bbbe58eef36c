// Words on a grid whose values after any number of steps are known in closed form, so that every word of a
// distributed computation can be compared with what a single rank would have computed.
//
// Word (x, y) of field f is seed(f) · a^x · b^y modulo 2^64, with a and b odd. The sum of a word and its four
// neighbours is then kGrowth times the word: an eigenfunction of the five-point stencil. As kGrowth is odd,
// no number of steps makes two of them alike, and integers leave no rounding that depends on order.
#pragma once
#include "interfaces/device/data_pattern.hpp"

namespace byteways {

// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits that are right.
BYTEWAYS_HOST_DEVICE constexpr unsigned long long lattice_inverse(unsigned long long odd) {
  unsigned long long x = odd;  // right in its lowest three bits
  for (int step = 0; step < 5; ++step) x *= 2 - odd * x;
  return x;
}

BYTEWAYS_HOST_DEVICE constexpr unsigned long long lattice_power(unsigned long long base,
                                                                unsigned long long exponent) {
  unsigned long long power = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if (exponent & 1) power *= base;
  return power;
}

// From one column, and from one row, to the next: 2^64 / golden ratio (Knuth 6.4), and the 64-bit prime of
// xxHash (XXH_PRIME64_2). Any two odd numbers would do that make no sum below vanish.
constexpr unsigned long long kAcross = 0x9E3779B97F4A7C15ull, kUp = 0xC2B2AE3D27D4EB4Full;
constexpr unsigned long long kBack = lattice_inverse(kAcross), kDown = lattice_inverse(kUp);
// By which a step of the stencil multiplies every word.
constexpr unsigned long long kGrowth = 1 + kAcross + kBack + kUp + kDown;
static_assert(kGrowth % 2 == 1);

BYTEWAYS_HOST_DEVICE inline unsigned long long lattice_seed(unsigned long long key,
                                                            unsigned long long field) {
  return pattern_word(key, field) | 1;
}

// "lattice_fill" and "lattice_check": fields of `width` words a row and `height` rows, one after the other.
// `corner` is the factor of word (0, 0) of every field: its place in the whole grid, and the steps so far.
// Only words[0], words[stride], … below words[count] are accessed.
struct LatticeArguments {
  unsigned long long* words;
  unsigned long long count;
  unsigned long long width, height;
  unsigned long long key;
  unsigned long long corner;
  unsigned long long stride;
  CheckResult* result;  // check only
};

BYTEWAYS_HOST_DEVICE inline unsigned long long lattice_word(const LatticeArguments& arguments,
                                                            unsigned long long index) {
  const unsigned long long row = index / arguments.width, x = index - row * arguments.width;
  const unsigned long long field = row / arguments.height, y = row - field * arguments.height;
  return arguments.corner * lattice_seed(arguments.key, field) * lattice_power(kAcross, x) *
         lattice_power(kUp, y);
}

}  // namespace byteways
