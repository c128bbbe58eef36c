// Interface `kernel-2d`: packs pitched rows, unpacks them, or both; and the check of such rows and of their
// gaps.
#include "interfaces/copy_2d/arguments.hpp"
#include "interfaces/device/finding.cuh"

namespace byteways {

__device__ inline Word load_element(const Word* from) { return *from; }
__device__ inline void store_element(Word* to, Word value) { *to = value; }
__device__ inline Bytes16 load_element(const Bytes16* from) { return load_streaming(from); }
__device__ inline void store_element(Bytes16* to, Bytes16 value) { store_streaming(to, value); }

// Neighbouring threads take neighbouring elements across rows, so short rows leave no thread idle.
template <class Element>
struct Rows {
  const char* source;
  char* destination;
  unsigned int per_row;

  __device__ explicit Rows(const Copy2dArguments& arguments)
      : source(static_cast<const char*>(arguments.source) + arguments.offset),
        destination(static_cast<char*>(arguments.destination) + arguments.offset),
        per_row(static_cast<unsigned int>(arguments.width_bytes / sizeof(Element))) {}

  // Offset of element i where rows are `pitch` bytes apart.
  __device__ Word offset(const Copy2dArguments& arguments, unsigned int i, Word pitch) const {
    const auto row = static_cast<unsigned int>(Word{i} * arguments.row_factor >> arguments.row_shift);
    return row * pitch + Word{i - row * per_row} * sizeof(Element);
  }

  // Copies `in_flight` elements from `first` on, `step` apart, if they are below `total`. Offsets are
  // computed twice: to keep them would take registers, and so leave room for fewer threads.
  template <unsigned int in_flight>
  __device__ void copy(const Copy2dArguments& arguments, unsigned int first, unsigned int step,
                       unsigned int total) const {
    Element held[in_flight];
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k)
      if (first + k * step < total)
        held[k] = load_element(reinterpret_cast<const Element*>(
            source + offset(arguments, first + k * step, arguments.source_pitch)));
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k)
      if (first + k * step < total)
        store_element(reinterpret_cast<Element*>(
                          destination + offset(arguments, first + k * step, arguments.destination_pitch)),
                      held[k]);
  }
};

template <class Element, unsigned int in_flight>
__device__ inline void copy_covered(const Copy2dArguments& arguments) {
  const Rows<Element> rows(arguments);
  const unsigned int total = static_cast<unsigned int>(arguments.rows) * rows.per_row;
  rows.template copy<in_flight>(arguments, static_cast<unsigned int>(tile_thread(in_flight)), block_threads(),
                                total);
}

// Of a larger grid no more take part, so that 32 bits hold the numbers of elements.
constexpr unsigned int kMostThreads2d = 1u << 26;

// Chunks of whole rows, of kNarrow2dElements at most, one after another.
template <class Element>
__device__ inline void copy_resident(const Copy2dArguments& arguments) {
  Rows<Element> rows(arguments);
  if (grid_thread() >= kMostThreads2d) return;
  const auto threads =
      static_cast<unsigned int>(grid_threads() < kMostThreads2d ? grid_threads() : kMostThreads2d);
  const Word most_rows = kNarrow2dElements / rows.per_row;
#pragma unroll 1
  for (Word row = 0; row < arguments.rows; row += most_rows) {
    const Word left = arguments.rows - row;
    const unsigned int total = static_cast<unsigned int>(left < most_rows ? left : most_rows) * rows.per_row;
#pragma unroll 1
    for (unsigned int first = static_cast<unsigned int>(grid_thread()); first < total;
         first += kCopyInFlight * threads)
      rows.template copy<kCopyInFlight>(arguments, first, threads, total);
    rows.source += most_rows * arguments.source_pitch;
    rows.destination += most_rows * arguments.destination_pitch;
  }
}

BYTEWAYS_KERNEL(512, 4) copy_2d(Copy2dArguments arguments) {
  if (arguments.element_bytes == sizeof(Word))
    copy_covered<Word, 1>(arguments);
  else
    copy_covered<Bytes16, 1>(arguments);
}
BYTEWAYS_KERNEL(512, 4) copy_2d_tiled(Copy2dArguments arguments) {
  if (arguments.element_bytes == sizeof(Word))
    copy_covered<Word, kTileAccesses>(arguments);
  else
    copy_covered<Bytes16, kTileAccesses>(arguments);
}
BYTEWAYS_KERNEL(512) copy_2d_resident(Copy2dArguments arguments) {
  if (arguments.element_bytes == sizeof(Word))
    copy_resident<Word>(arguments);
  else
    copy_resident<Bytes16>(arguments);
  if (arguments.fence != 0) fence_system();
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
