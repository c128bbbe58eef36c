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
template <class Element, class Index>
__device__ void copy_elements(const Copy2dArguments& arguments, const char* source, char* destination) {
  const Index per_row = static_cast<Index>(arguments.width_bytes / sizeof(Element));
  const Index total = static_cast<Index>(arguments.rows) * per_row;
  const Index threads = static_cast<Index>(grid_threads());
  for (Index first = static_cast<Index>(grid_thread()); first < total; first += kCopyInFlight * threads) {
    Element held[kCopyInFlight];
    Word to[kCopyInFlight];
#pragma unroll
    for (unsigned int k = 0; k < kCopyInFlight; ++k) {
      const Index i = first + k * threads;
      if (i >= total) break;
      const Index row = i / per_row;
      const Word column = Word{i - row * per_row} * sizeof(Element);
      to[k] = row * arguments.destination_pitch + column;
      held[k] =
          load_element(reinterpret_cast<const Element*>(source + row * arguments.source_pitch + column));
    }
#pragma unroll
    for (unsigned int k = 0; k < kCopyInFlight; ++k) {
      if (first + k * threads >= total) break;
      store_element(reinterpret_cast<Element*>(destination + to[k]), held[k]);
    }
  }
}

template <class Element>
__device__ void copy_2d_of(const Copy2dArguments& arguments, const char* source, char* destination) {
  if (arguments.rows * (arguments.width_bytes / sizeof(Element)) < kNarrowBelow &&
      kCopyInFlight * grid_threads() < kNarrowBelow)
    copy_elements<Element, unsigned int>(arguments, source, destination);
  else
    copy_elements<Element, Word>(arguments, source, destination);
}

BYTEWAYS_KERNEL(512) copy_2d(Copy2dArguments arguments) {
  const Word slot = arguments.slots > 1 ? arguments.first_operation % arguments.slots : 0;
  const char* source = static_cast<const char*>(arguments.source) + slot * arguments.stride;
  char* destination = static_cast<char*>(arguments.destination) + slot * arguments.stride;
  const Word alignment = reinterpret_cast<Word>(source) | reinterpret_cast<Word>(destination) |
                         arguments.width_bytes | arguments.source_pitch | arguments.destination_pitch;
  if (alignment & 15)
    copy_2d_of<Word>(arguments, source, destination);
  else
    copy_2d_of<Bytes16>(arguments, source, destination);
  fence_system();  // completes the stores at the destination before the kernel ends
}

__device__ inline Word expected_at(const Check2dArguments& arguments, Word i) {
  const Word slot = i / arguments.slot_words, within = i - slot * arguments.slot_words;
  const Word row = within / arguments.pitch_words, column = within - row * arguments.pitch_words;
  if (row >= arguments.rows || column >= arguments.row_words) return arguments.gap;
  return pattern_word(arguments.key,
                      slot * arguments.slot_words + row * arguments.source_pitch_words + column);
}

BYTEWAYS_KERNEL(512) check_2d(Check2dArguments arguments) { check_words(arguments); }

}  // namespace byteways
