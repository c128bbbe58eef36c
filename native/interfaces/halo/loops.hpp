// The kernels of the halo exchange as plain loops over rows [first, last): for hosts, and for the simulated
// machine where memory is real.
#pragma once
#include <cstring>

#include "interfaces/halo/arguments.hpp"

namespace byteways {

// Calls action(field, row) for rows [first, last) of all fields, `rows` in each. Counted on, because a
// division a row is more than the row itself where it is two cells long.
template <class Action>
[[gnu::always_inline]] inline void halo_for_rows(unsigned long long rows, unsigned long long first,
                                                 unsigned long long last, const Action& action) {
  unsigned long long field = first / rows, row = first - field * rows;
  for (unsigned long long k = first; k < last; ++k) {
    action(field, row);
    if (++row < rows) continue;
    row = 0;
    ++field;
  }
}

// Everything by value: a word that is stored could be an argument of the kernel, for all the compiler knows,
// and it would read the width anew for each.
inline void halo_stencil_row(const unsigned long long* cell, unsigned long long* to, unsigned long long pitch,
                             unsigned long long width) {
  const unsigned long long *below = cell - pitch, *above = cell + pitch;
  for (unsigned long long x = 0; x < width; ++x)
    to[x] = cell[x] + (cell - 1)[x] + cell[x + 1] + below[x] + above[x];
}

inline void halo_stencil_rows(const HaloArguments& a, unsigned long long first_row,
                              unsigned long long last_row) {
  const unsigned long long pitch = halo_pitch(a), width = a.width, words = halo_field_words(a);
  const unsigned long long corner = a.depth * pitch + a.depth;
  const unsigned long long* const from = a.from + corner;
  unsigned long long* const to = a.to + corner;
  halo_for_rows(a.height, first_row, last_row, [=](unsigned long long field, unsigned long long y) {
    const unsigned long long first = field * words + y * pitch;
    halo_stencil_row(from + first, to + first, pitch, width);
  });
}

template <bool packs>
void halo_move_rows(const HaloArguments& a, unsigned long long first_row, unsigned long long last_row) {
  const unsigned long long words = halo_row_words(a), pitch = halo_pitch(a),
                           field_words = halo_field_words(a);
  const unsigned long long strip = halo_strip(a, !packs);
  const unsigned long long* const from = a.from;
  unsigned long long* const to = a.to;
  unsigned long long in_message = first_row * words;
  halo_for_rows(halo_rows(a), first_row, last_row, [&](unsigned long long field, unsigned long long row) {
    const unsigned long long in_fields = field * field_words + strip + row * pitch;
    std::memcpy(to + (packs ? in_message : in_fields), from + (packs ? in_fields : in_message),
                words * sizeof(unsigned long long));
    in_message += words;
  });
}

inline void halo_boundary_rows(const HaloArguments& a, unsigned long long first_row,
                               unsigned long long last_row) {
  const unsigned long long words = halo_row_words(a), pitch = halo_pitch(a),
                           field_words = halo_field_words(a);
  const unsigned long long strip = halo_strip(a, true), rows = halo_rows(a);
  const unsigned long long* const read = a.from;
  unsigned long long* const written = a.to;
  const auto continued = [=](unsigned long long first, unsigned long long count, const HaloMirror& mirror) {
    const unsigned long long* from = read + (mirror.low ? first + mirror.step : first - mirror.step);
    for (unsigned long long k = 0; k < count; ++k) written[first + k] = from[k] * mirror.factor;
  };
  if (a.side > kRight) {
    halo_for_rows(rows, first_row, last_row, [&](unsigned long long field, unsigned long long row) {
      continued(field * field_words + strip + row * pitch, words, halo_mirror(a, row));
    });
    return;
  }
  for (unsigned long long column = 0; column < words; ++column) {
    const HaloMirror mirror = halo_mirror(a, column);
    halo_for_rows(rows, first_row, last_row, [&](unsigned long long field, unsigned long long row) {
      continued(field * field_words + strip + row * pitch + column, 1, mirror);
    });
  }
}

}  // namespace byteways
