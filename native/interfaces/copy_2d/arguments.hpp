// Argument blocks of pitched (2D) copies.
#pragma once
#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"

namespace byteways {

// Elements that a kernel numbers in 32 bits at a time, with room for the threads behind the last one.
constexpr unsigned int kNarrow2dElements = 1u << 30;

// "copy_2d", "copy_2d_tiled" and "copy_2d_resident" (device) and "memcpy_2d" (host): copies `rows` rows of
// `width_bytes`. Row starts are one pitch apart on each side; a pitch equal to the width means contiguous
// rows. Runs `operations` one after another, each on its slot of both buffers.
struct Copy2dArguments {
  const void* source;
  void* destination;
  unsigned long long width_bytes, rows;
  unsigned long long source_pitch, destination_pitch;  // bytes
  unsigned long long offset;                           // device: of this operation's slot
  // device: the row of element i < 2^31 is i * row_factor >> row_shift (Granlund and Montgomery, 1994)
  unsigned int row_factor, row_shift;
  unsigned int element_bytes;  // device: of one load and store, 8 or 16
  unsigned int fence;          // device: 1 if must_fence() (mover.hpp)
  unsigned long long slots, stride;
  unsigned long long first_operation;
  unsigned long long operations;
};

// "check_2d": checks `count` words from the start of a slot on; slots are `slot_words` apart. In slot s, word
// `column` of row r must be pattern_word(key, s * slot_words + r * source_pitch_words + column). Words
// between the rows and behind the last row must be `gap`.
struct Check2dArguments {
  unsigned long long* words;
  unsigned long long count, slot_words;
  unsigned long long rows, row_words, pitch_words;
  unsigned long long key;
  unsigned long long source_pitch_words;
  unsigned long long gap;
  CheckResult* result;
};

}  // namespace byteways
