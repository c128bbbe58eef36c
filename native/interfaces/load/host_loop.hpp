// The host's loop of `load`.
#pragma once
#include "runtimes/host/isa.hpp"

namespace byteways {

// Returns the XOR of all words: one instruction a register, so that the loads limit it and not the
// arithmetic. Words that fill four registers begin at a multiple of a register.
struct LoadXor {
  template <class Isa>
  BYTEWAYS_INLINE static unsigned long long run(const unsigned long long* words, unsigned long long count) {
    using Words = typename Isa::Words;
    constexpr unsigned long long width = sizeof(Words) / sizeof *words;
    Words one = {}, two = {}, three = {}, four = {};  // independent, because an XOR takes longer than a load
    words = aligned<Isa>(words);
    const unsigned long long whole = count / (4 * width) * (4 * width);
    unsigned long long i = 0;
    for (; i < whole; i += 4 * width) {
      const Words a = words_at<Isa>(words + i), b = words_at<Isa>(words + i + width);
      const Words c = words_at<Isa>(words + i + 2 * width), d = words_at<Isa>(words + i + 3 * width);
      one ^= a;
      two ^= b;
      three ^= c;
      four ^= d;
    }
    unsigned long long all = xor_of<Isa>(one ^ two ^ three ^ four);
    for (; i < count; ++i) {
      keep_scalar(i);
      all ^= words[i];
    }
    return all;
  }
};

}  // namespace byteways
