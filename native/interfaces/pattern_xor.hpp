// The XOR of a range of the pattern, in closed form: what a host that reads it must find (host_sum.hpp).
#pragma once
#include "interfaces/device/data_pattern.hpp"

namespace byteways {

__extension__ typedef unsigned __int128 Wide;  // the extension is of both compilers

// Returns whether the sum of floor((a k + b) / 2^bit) over k < count is odd, by the reduction of Euclid's
// algorithm (Graham, Knuth, Patashnik, Concrete Mathematics, 3.5). Needs a, b < 2^64 and count < 2^45.
inline bool odd_floor_sum(Wide a, Wide b, unsigned int bit, Wide count) {
  Wide divisor = Wide{1} << bit;
  unsigned long long sum = 0;  // modulo 2^64: its lowest bit decides
  for (;;) {
    sum += static_cast<unsigned long long>(count * (count - 1) / 2) *
               static_cast<unsigned long long>(a / divisor) +
           static_cast<unsigned long long>(count) * static_cast<unsigned long long>(b / divisor);
    a %= divisor;
    b %= divisor;
    const Wide most = a * count + b;
    if (most < divisor) return sum % 2 != 0;
    count = most / divisor;
    b = most % divisor;
    const Wide other = a;
    a = divisor;
    divisor = other;
  }
}

// The 64 sums of the closed form take as long as so many words, one after another.
inline constexpr unsigned long long kWordsOfClosedForm = 1u << 14;

// Returns the XOR of pattern_word() over `count` words of the pattern, from index `first` on.
inline unsigned long long pattern_xor(unsigned long long key, unsigned long long first,
                                      unsigned long long count) {
  constexpr unsigned long long kMultiplier = 0x9E3779B97F4A7C15ull;  // of pattern_word()
  unsigned long long product = (key + first) * kMultiplier, all = 0;
  if (count < kWordsOfClosedForm) {
    for (unsigned long long k = 0; k < count; ++k, product += kMultiplier) all ^= product;
  } else {
    for (unsigned int bit = 0; bit < 64; ++bit)
      all |= static_cast<unsigned long long>(odd_floor_sum(kMultiplier, product, bit, count)) << bit;
  }
  return all ^ all >> 32;  // the fold of pattern_word() commutes with XOR
}

}  // namespace byteways
