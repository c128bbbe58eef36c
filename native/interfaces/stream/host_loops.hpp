// The host's loops of the STREAM kernels and of their verification data. Regular stores, like a compiled
// STREAM.
#pragma once
#include "interfaces/pattern_loops.hpp"
#include "interfaces/stream/arguments.hpp"
#include "runtimes/host/isa.hpp"

namespace byteways {

BYTEWAYS_INLINE constexpr bool reads_second(unsigned operation) {
  return operation == kStreamAdd || operation == kStreamTriad;
}

// Replaces `a` by operation(a, b), whatever register it is.
template <unsigned operation, class Doubles>
BYTEWAYS_INLINE void compute(Doubles& a, const Doubles& b) {
  if constexpr (operation == kStreamScale) a = kStreamScalar * a;
  if constexpr (operation == kStreamAdd) a = a + b;
  if constexpr (operation == kStreamTriad) a = a + kStreamScalar * b;
}

// One register's worth of an operation.
template <class Isa, unsigned operation>
BYTEWAYS_INLINE void stream_step(double* destination, const double* first, const double* second) {
  typename Isa::Doubles a = doubles_at<Isa>(first), b = {};
  if constexpr (reads_second(operation)) b = doubles_at<Isa>(second);
  compute<operation>(a, b);
  doubles_at<Isa>(destination) = a;
}

// One thread's share of an operation. Shares begin at cache lines; what is left at the end is done word by
// word.
template <unsigned operation>
struct StreamLoop {
  template <class Isa>
  BYTEWAYS_INLINE static void run(double* destination, const double* first, const double* second,
                                  unsigned long long count) {
    constexpr unsigned long long width = sizeof(typename Isa::Doubles) / sizeof *first;
    destination = aligned<Isa>(destination);
    first = aligned<Isa>(first);
    second = aligned<Isa>(second);
    unsigned long long i = 0;
    // In the order of addresses: with all loads first, GCC writes lines out of turn, 15 % slower in the L1
    // cache.
    for (; i + 4 * width <= count; i += 4 * width) {
      stream_step<Isa, operation>(destination + i, first + i, second + i);
      stream_step<Isa, operation>(destination + i + width, first + i + width, second + i + width);
      stream_step<Isa, operation>(destination + i + 2 * width, first + i + 2 * width, second + i + 2 * width);
      stream_step<Isa, operation>(destination + i + 3 * width, first + i + 3 * width, second + i + 3 * width);
    }
    for (; i < count; ++i) {
      keep_scalar(i);
      double a = first[i];
      compute<operation>(a, reads_second(operation) ? second[i] : 0.0);
      destination[i] = a;
    }
  }
};

// Doubles of the pattern (stream_word), from products (key + index) × multiplier.
template <class Words>
BYTEWAYS_INLINE void to_doubles(Words& words, const Words& products) {
  // Two shifts rather than a mask, which GCC 14 keeps on the stack.
  words = 0x3FF0000000000000ull | (((products ^ (products >> 32)) >> 14) << 2);
}

struct StreamFill {
  template <class Isa>
  BYTEWAYS_INLINE static void run(unsigned long long* words, unsigned long long count,
                                  unsigned long long index) {
    using Words = typename Isa::Words;
    constexpr unsigned long long width = sizeof(Words) / sizeof *words;
    Words products, line;
    first_products<Isa>(products, index * kPatternMultiplier);
    unsigned long long i = 0;
    for (; i + width <= count; i += width) {
      to_doubles(line, products);
      words_at<Isa>(words + i) = line;
      products += width * kPatternMultiplier;
    }
    for (; i < count; ++i) {
      keep_scalar(i);
      words[i] = stream_word(pattern_word(index, i));
    }
  }
};

// Returns all bits that differ from the expected result in any word.
template <unsigned operation>
struct StreamDiffer {
  template <class Isa>
  BYTEWAYS_INLINE static unsigned long long run(const unsigned long long* words, unsigned long long count,
                                                unsigned long long first, unsigned long long second) {
    using Words = typename Isa::Words;
    using Doubles = typename Isa::Doubles;
    constexpr unsigned long long width = sizeof(Words) / sizeof *words, step = width * kPatternMultiplier;
    Words a, b, differing = {}, one, two;
    first_products<Isa>(a, first * kPatternMultiplier);
    first_products<Isa>(b, second * kPatternMultiplier);
    unsigned long long i = 0;
    for (; i + width <= count; i += width) {
      to_doubles(one, a);
      to_doubles(two, b);
      Doubles result = (Doubles)one;
      compute<operation>(result, (Doubles)two);
      differing |= words_at<Isa>(words + i) ^ (Words)result;
      a += step;
      b += step;
    }
    unsigned long long bits = 0;
    for (; i < count; ++i) {
      keep_scalar(i);
      bits |= words[i] ^ stream_expected(operation, first, second, i);
    }
    for (unsigned long long k = 0; k < width; ++k) bits |= differing[k];
    return bits;
  }
};

}  // namespace byteways
