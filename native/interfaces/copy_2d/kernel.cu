// Interface `kernel-2d`: packs pitched rows, unpacks them, or both; and the check of such rows and of their
// gaps.
#include "interfaces/copy_2d/arguments.hpp"
#include "interfaces/device/finding.cuh"

namespace byteways {

constexpr Word kNarrowBelow = Word{1} << 31;  // 32-bit indices below this, including a batch in flight

__device__ inline Word load_element(const Word* from) { return *from; }
__device__ inline void store_element(Word* to, Word value) { *to = value; }
__device__ inline Bytes16 load_element(const Bytes16* from) { return load_streaming(from); }
__device__ inline void store_element(Bytes16* to, Bytes16 value) { store_streaming(to, value); }

// Neighbouring threads take neighbouring elements across rows, so short rows leave no thread idle.
template <class Element, class Index, unsigned int in_flight>
__device__ void copy_elements(const Copy2dArguments& arguments, const char* source, char* destination) {
  const Index per_row = static_cast<Index>(arguments.width_bytes / sizeof(Element));
  const Index total = static_cast<Index>(arguments.rows) * per_row;
  const Index threads = static_cast<Index>(grid_threads());
  for (Index first = static_cast<Index>(grid_thread()); first < total; first += in_flight * threads) {
    const char* from[in_flight];
    char* to[in_flight];
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k) {
      const Index i = first + k * threads, row = i / per_row;
      const Word column = Word{i - row * per_row} * sizeof(Element);
      from[k] = source + row * arguments.source_pitch + column;
      to[k] = destination + row * arguments.destination_pitch + column;
    }
    Element held[in_flight];
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k)
      if (first + k * threads < total) held[k] = load_element(reinterpret_cast<const Element*>(from[k]));
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k)
      if (first + k * threads < total) store_element(reinterpret_cast<Element*>(to[k]), held[k]);
  }
}

template <class Element, unsigned int in_flight>
__device__ void copy_2d_of(const Copy2dArguments& arguments, const char* source, char* destination) {
  if (arguments.rows * (arguments.width_bytes / sizeof(Element)) < kNarrowBelow &&
      in_flight * grid_threads() < kNarrowBelow)
    copy_elements<Element, unsigned int, in_flight>(arguments, source, destination);
  else
    copy_elements<Element, Word, in_flight>(arguments, source, destination);
}

template <unsigned int in_flight>
__device__ inline void copy_rows(const Copy2dArguments& arguments) {
  const char* source = static_cast<const char*>(arguments.source) + arguments.slot * arguments.stride;
  char* destination = static_cast<char*>(arguments.destination) + arguments.slot * arguments.stride;
  const Word alignment = reinterpret_cast<Word>(source) | reinterpret_cast<Word>(destination) |
                         arguments.width_bytes | arguments.source_pitch | arguments.destination_pitch;
  if (alignment & 15)
    copy_2d_of<Word, in_flight>(arguments, source, destination);
  else
    copy_2d_of<Bytes16, in_flight>(arguments, source, destination);
  if (arguments.fence != 0) fence_system();
}

// A thread for every element, and a grid of chosen size.
BYTEWAYS_KERNEL(512, 4) copy_2d(Copy2dArguments arguments) { copy_rows<1>(arguments); }
BYTEWAYS_KERNEL(512) copy_2d_resident(Copy2dArguments arguments) { copy_rows<kCopyInFlight>(arguments); }

__device__ inline Word expected_at(const Check2dArguments& arguments, Word i) {
  const Word slot = i / arguments.slot_words, within = i - slot * arguments.slot_words;
  const Word row = within / arguments.pitch_words, column = within - row * arguments.pitch_words;
  if (row >= arguments.rows || column >= arguments.row_words) return arguments.gap;
  return pattern_word(arguments.key,
                      slot * arguments.slot_words + row * arguments.source_pitch_words + column);
}

BYTEWAYS_KERNEL(512) check_2d(Check2dArguments arguments) { check_words(arguments); }

}  // namespace byteways
