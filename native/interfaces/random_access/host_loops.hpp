// The host's loops of random access. Elements and words of the pattern are computed for a block of accesses
// at once, in vectors: computed one by one they fill the window of instructions in which a processor finds
// loads to overlap, and the loop then measures arithmetic.
#pragma once
#include "interfaces/pattern_loops.hpp"
#include "interfaces/random_access/arguments.hpp"
#include "runtimes/host/isa.hpp"

namespace byteways {

inline constexpr unsigned int kRandomBlock = 256;  // accesses; all of its data stay in the nearest cache

// The elements of a block, from access `first` on.
struct RandomElements {
  template <class Isa>
  BYTEWAYS_INLINE static void run(unsigned int* elements, unsigned int first, RandomOrder order) {
    for (unsigned int k = 0; k < kRandomBlock; ++k) elements[k] = order.element(first + k);
  }
};

// Of each element the product in pattern_word() for its first word; `scale` is the words of an element.
struct RandomProducts {
  template <class Isa>
  BYTEWAYS_INLINE static void run(unsigned long long* products, const unsigned int* elements,
                                  unsigned long long index, unsigned int scale) {
    for (unsigned int k = 0; k < kRandomBlock; ++k)
      products[k] = (index + static_cast<unsigned long long>(elements[k]) * scale) * kPatternMultiplier;
  }
};

// The word of the pattern for each element of `1 << shift` to a word.
struct RandomWords {
  template <class Isa>
  BYTEWAYS_INLINE static void run(unsigned long long* words, const unsigned int* elements,
                                  unsigned long long index, unsigned int shift) {
    for (unsigned int k = 0; k < kRandomBlock; ++k)
      words[k] = folded((index + (elements[k] >> shift)) * kPatternMultiplier);
  }
};

}  // namespace byteways
