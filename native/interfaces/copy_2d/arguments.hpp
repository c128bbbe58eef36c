// Argument blocks of 2D copies: rows that lie a pitch apart.
#pragma once
#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"

namespace byteways {

// "copy_2d" (device) and "memcpy_2d" (host): `rows` rows of `width_bytes`, a pitch apart on either side;
// a pitch as wide as a row packs them. `operations` in turn, each on its slot of both buffers.
struct Copy2dArguments {
  const void* source;
  void* destination;
  unsigned long long width_bytes, rows;
  unsigned long long source_pitch, destination_pitch;  // bytes
  unsigned long long slots, stride;
  unsigned long long first_operation;
  unsigned long long operations;
};

// "check_2d": `count` words that begin with a slot, one slot in `slot_words`. In slot s, word `column` of
// row r is pattern_word(key, s * slot_words + r * source_pitch_words + column); what lies between the rows
// and behind the last one is `gap`.
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
