// The kernels of the halo exchange as plain loops over rows [first, last): for hosts, and for the simulated
// machine where memory is real.
#pragma once
#include <cstring>

#include "interfaces/halo/arguments.hpp"

namespace byteways {

inline void halo_stencil_rows(const HaloArguments& a, unsigned long long first_row,
                              unsigned long long last_row) {
  // Copies: a word that is stored could be one of the arguments, for all the compiler knows.
  const unsigned long long pitch = halo_pitch(a), width = a.width;
  for (unsigned long long row = first_row; row < last_row; ++row) {
    const unsigned long long field = row / a.height, y = row % a.height;
    const unsigned long long first = field * halo_field_words(a) + (y + a.depth) * pitch + a.depth;
    const unsigned long long *cell = a.from + first, *below = cell - pitch, *above = cell + pitch;
    unsigned long long* to = a.to + first;
    for (unsigned long long x = 0; x < width; ++x)
      to[x] = cell[x] + (cell - 1)[x] + cell[x + 1] + below[x] + above[x];
  }
}

template <bool packs>
void halo_move_rows(const HaloArguments& a, unsigned long long first_row, unsigned long long last_row) {
  const unsigned long long strip = halo_strip(a, !packs), words = halo_row_words(a);
  for (unsigned long long row = first_row; row < last_row; ++row) {
    const unsigned long long in_fields = halo_index(a, strip, row * words), in_message = row * words;
    std::memcpy(a.to + (packs ? in_message : in_fields), a.from + (packs ? in_fields : in_message),
                words * sizeof(unsigned long long));
  }
}

inline void halo_boundary_rows(const HaloArguments& a, unsigned long long first_row,
                               unsigned long long last_row) {
  const unsigned long long strip = halo_strip(a, true), words = halo_row_words(a), rows = halo_rows(a);
  const auto continued = [&](unsigned long long first, unsigned long long count, const HaloMirror& mirror) {
    const unsigned long long* from = a.from + (mirror.low ? first + mirror.step : first - mirror.step);
    for (unsigned long long k = 0; k < count; ++k) a.to[first + k] = from[k] * mirror.factor;
  };
  if (a.side > kRight) {
    for (unsigned long long row = first_row; row < last_row; ++row)
      continued(halo_index(a, strip, row * words), words, halo_mirror(a, row % rows));
    return;
  }
  for (unsigned long long column = 0; column < words; ++column) {
    const HaloMirror mirror = halo_mirror(a, column);
    for (unsigned long long row = first_row; row < last_row; ++row)
      continued(halo_index(a, strip, row * words) + column, 1, mirror);
  }
}

}  // namespace byteways
