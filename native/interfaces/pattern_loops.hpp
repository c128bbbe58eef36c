// The host's loops that write the pattern and compare with it: for `store`, and for fills and checks of every
// case.
#pragma once
#include "interfaces/device/data_pattern.hpp"
#include "runtimes/host/isa.hpp"

namespace byteways {

inline constexpr unsigned long long kPatternMultiplier = 0x9E3779B97F4A7C15ull;  // of pattern_word()

// From word to word, the product in pattern_word() grows by its multiplier, so additions replace
// multiplications. The products of one register, `product` being that of the first word.
template <class Isa>
BYTEWAYS_INLINE void first_products(typename Isa::Words& products, unsigned long long product) {
  constexpr unsigned long long width = sizeof(products) / sizeof product;
  typename Isa::Words multiples;  // a constant
  for (unsigned long long k = 0; k < width; ++k) multiples[k] = k * kPatternMultiplier;
  products = product + multiples;
}

BYTEWAYS_INLINE unsigned long long folded(unsigned long long product) { return product ^ product >> 32; }

// Writes the pattern; `product` is that of the first word.
struct PatternFill {
  template <class Isa>
  BYTEWAYS_INLINE static void run(unsigned long long* words, unsigned long long count,
                                  unsigned long long product) {
    using Words = typename Isa::Words;
    constexpr unsigned long long width = sizeof(Words) / sizeof product, step = width * kPatternMultiplier;
    Words a;
    first_products<Isa>(a, product);
    Words b = a + step, c = b + step, d = c + step;  // four, because a sum takes as long as several stores
    unsigned long long i = 0;
    for (; i + 4 * width <= count; i += 4 * width) {
      words_at<Isa>(words + i) = a ^ (a >> 32);
      words_at<Isa>(words + i + width) = b ^ (b >> 32);
      words_at<Isa>(words + i + 2 * width) = c ^ (c >> 32);
      words_at<Isa>(words + i + 3 * width) = d ^ (d >> 32);
      a += 4 * step;
      b += 4 * step;
      c += 4 * step;
      d += 4 * step;
    }
    for (; i < count; ++i) {
      keep_scalar(i);
      words[i] = folded(product + i * kPatternMultiplier);
    }
  }
};

// Returns all bits that differ from the pattern in any word.
struct PatternDiffer {
  template <class Isa>
  BYTEWAYS_INLINE static unsigned long long run(const unsigned long long* words, unsigned long long count,
                                                unsigned long long product) {
    using Words = typename Isa::Words;
    constexpr unsigned long long width = sizeof(Words) / sizeof product, step = width * kPatternMultiplier;
    Words a;
    first_products<Isa>(a, product);
    Words b = a + step, c = b + step, d = c + step, differing = {}, more = {};
    unsigned long long i = 0;
    for (; i + 4 * width <= count; i += 4 * width) {
      differing |= words_at<Isa>(words + i) ^ a ^ (a >> 32);
      more |= words_at<Isa>(words + i + width) ^ b ^ (b >> 32);
      differing |= words_at<Isa>(words + i + 2 * width) ^ c ^ (c >> 32);
      more |= words_at<Isa>(words + i + 3 * width) ^ d ^ (d >> 32);
      a += 4 * step;
      b += 4 * step;
      c += 4 * step;
      d += 4 * step;
    }
    differing |= more;
    unsigned long long bits = 0;
    for (; i < count; ++i) {
      keep_scalar(i);
      bits |= words[i] ^ folded(product + i * kPatternMultiplier);
    }
    for (unsigned long long k = 0; k < width; ++k) bits |= differing[k];
    return bits;
  }
};

}  // namespace byteways
