// The host's loops of random access. Elements are computed for a block of accesses at once, in vectors:
// computed one by one they fill the window of instructions in which a processor finds loads to overlap, and
// the loop then measures arithmetic.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interfaces/pattern_loops.hpp"
#include "interfaces/random_access/arguments.hpp"
#include "runtimes/host/isa.hpp"

namespace byteways {

inline constexpr unsigned int kRandomBlock = 64;  // accesses; a multiple of a register's words

// Some accesses of an operation.
struct RandomBlock {
  std::byte* slot;
  unsigned long long index;  // of the slot's first word in the pattern: its key included
  const unsigned int* elements;
  unsigned int count;
};

// The elements of one block after another, in the order of random_element().
template <class Isa>
class ElementBlocks {
 public:
  BYTEWAYS_INLINE ElementBlocks(const RandomOrder& order, unsigned int first_access)
      : mask_(order.mask), half_(order.half), step_(kWidth * order.factor) {
    for (unsigned int k = 0; k < kWidth; ++k) next_[k] = (first_access + k) * order.factor + order.offset;
  }
  // RandomOrder::element() of the next accesses. The first of its products grows by the factor from access to
  // access.
  BYTEWAYS_INLINE void write(unsigned int* elements) {
    for (unsigned int k = 0; k < kRandomBlock; k += kWidth) {
      Halves x = next_ & mask_;
      x ^= x >> half_;
      x = x * RandomOrder::kMultiplier & mask_;
      halves_at<Isa>(elements + k) = x ^ (x >> half_);
      next_ += step_;
    }
  }

 private:
  using Halves = typename Isa::Halves;
  static constexpr unsigned int kWidth = sizeof(Halves) / sizeof(unsigned int);

  unsigned int mask_, half_, step_;
  Halves next_;
};

// Two elements, read at once: with many stores to random places in flight, a processor takes a load for one
// that must wait for them when the lowest 12 bits of an address agree, and every second load is spared.
struct ElementPair {
  unsigned int first, second;
};
BYTEWAYS_INLINE ElementPair pair_at(const unsigned int* elements) {
  unsigned long long both;
  std::memcpy(&both, elements, sizeof both);
  return {static_cast<unsigned int>(both), static_cast<unsigned int>(both >> 32)};
}

// Returns the XOR of all accesses.
template <unsigned int bytes>
struct RandomLoads {
  template <class Isa>
  BYTEWAYS_INLINE static unsigned long long run(const RandomBlock& block) {
    // Loads one by one into four sums. GCC puts these into registers word by word; clang would make gathers
    // of them, of which a processor overlaps fewer: 27 instead of 43 GB/s in an L1 cache.
    unsigned long long all = 0, more[4] = {}, k = 0;
    for (; k + 4 <= block.count; k += 4) {
      keep_scalar(k);
      for (unsigned int j = 0; j < 4; ++j) {
#if defined(__clang__)
        keep_scalar(more[j]);
#endif
        more[j] ^= load(block.slot, block.elements[k + j]);
      }
    }
    for (; k < block.count; ++k) {
      keep_scalar(k);
      all ^= load(block.slot, block.elements[k]);
    }
    for (const unsigned long long one : more) all ^= one;
    return all;
  }

 private:
  BYTEWAYS_INLINE static unsigned long long load(const std::byte* slot, unsigned int element) {
    const std::byte* from = slot + element * std::size_t{bytes};
    unsigned long long all = 0;
    if constexpr (bytes < sizeof all) {
      std::memcpy(&all, from, bytes);
    } else {
      for (std::size_t word = 0; word < bytes / sizeof all; ++word) {
        unsigned long long got;
        std::memcpy(&got, from + word * sizeof got, sizeof got);
        all ^= got;
      }
    }
    return all;
  }
};

// Writes the pattern to each element.
template <unsigned int bytes>
struct RandomStores {
  template <class Isa>
  BYTEWAYS_INLINE static unsigned long long run(const RandomBlock& block) {
    unsigned long long k = 0;
    if (block.count == kRandomBlock) {
      // Two words to a register are no gain: neither SSE2 nor NEON has a product of 64 bits.
      constexpr unsigned int width = sizeof(typename Isa::Words) / sizeof(unsigned long long);
      if constexpr (bytes <= sizeof(unsigned long long) && width > 2)
        for (; k < kRandomBlock; k += width) store_register<Isa>(block, block.elements + k);
      for (; k < kRandomBlock; k += 2) {
        const ElementPair pair = pair_at(block.elements + k);
        store(block, pair.first);
        store(block, pair.second);
      }
    }
    for (; k < block.count; ++k) {
      keep_scalar(k);
      store(block, block.elements[k]);
    }
    return 0;
  }

 private:
  // The words of a register of accesses go from there to memory. From an array of them they would come
  // through the queue of stores, which takes half as many more entries then.
  template <class Isa>
  BYTEWAYS_INLINE static void store_register(const RandomBlock& block, const unsigned int* elements) {
    using Words = typename Isa::Words;
    const Words places = __builtin_convertvector(few_halves_at<Isa>(elements), Words);
    const Words products = (block.index + (places >> kShift)) * kPatternMultiplier;
    const Words words = products ^ (products >> 32);
    for (unsigned int j = 0; j < sizeof words / sizeof words[0]; j += 2) {
      const ElementPair pair = pair_at(elements + j);
      put(block.slot, pair.first, words[j]);
      put(block.slot, pair.second, words[j + 1]);
    }
  }
  BYTEWAYS_INLINE static void put(std::byte* slot, unsigned int element, unsigned long long word) {
    std::byte* to = slot + element * std::size_t{bytes};
    if constexpr (bytes < sizeof word) {
      const std::uint32_t half = half_word(word, element & 1);
      std::memcpy(to, &half, sizeof half);
    } else {
      std::memcpy(to, &word, sizeof word);
    }
  }
  BYTEWAYS_INLINE static void store(const RandomBlock& block, unsigned int element) {
    if constexpr (bytes <= sizeof(unsigned long long)) {
      put(block.slot, element, folded((block.index + (element >> kShift)) * kPatternMultiplier));
    } else {
      constexpr std::size_t kWords = bytes / sizeof(unsigned long long);
      const unsigned long long product = (block.index + element * kWords) * kPatternMultiplier;
      std::byte* to = block.slot + element * std::size_t{bytes};
      for (std::size_t word = 0; word < kWords; ++word) {
        const unsigned long long value = folded(product + word * kPatternMultiplier);
        std::memcpy(to + word * sizeof value, &value, sizeof value);
      }
    }
  }
  static constexpr unsigned int kShift =
      bytes < sizeof(unsigned long long) ? 1 : 0;  // two elements to a word
};

// Turns each element, of whole words, into the next pattern.
template <unsigned int bytes>
struct RandomUpdates {
  template <class Isa>
  BYTEWAYS_INLINE static unsigned long long run(const RandomBlock& block) {
    // Loads before stores, which a processor would otherwise have to find independent. They are: the elements
    // of an operation differ.
    constexpr unsigned int kGroup = bytes > sizeof(unsigned long long) ? 2 : 4;
    unsigned long long k = 0;
    if (block.count == kRandomBlock) {
      for (; k < kRandomBlock; k += kGroup) {
        unsigned int elements[kGroup];
        for (unsigned int j = 0; j < kGroup; j += 2) {
          const ElementPair pair = pair_at(block.elements + k + j);
          elements[j] = pair.first;
          elements[j + 1] = pair.second;
        }
        update<kGroup>(block.slot, elements);
      }
    }
    for (; k < block.count; ++k) {
      keep_scalar(k);
      update<1>(block.slot, block.elements + k);
    }
    return 0;
  }

 private:
  template <unsigned int group>
  BYTEWAYS_INLINE static void update(std::byte* slot, const unsigned int* elements) {
    constexpr std::size_t kWords = bytes / sizeof(unsigned long long);
    unsigned long long words[group][kWords];
    for (unsigned int j = 0; j < group; ++j)
      std::memcpy(words[j], slot + elements[j] * std::size_t{bytes}, bytes);
    for (unsigned int j = 0; j < group; ++j)
      for (std::size_t word = 0; word < kWords; ++word) words[j][word] = updated_word(words[j][word]);
    for (unsigned int j = 0; j < group; ++j)
      std::memcpy(slot + elements[j] * std::size_t{bytes}, words[j], bytes);
  }
};

}  // namespace byteways
