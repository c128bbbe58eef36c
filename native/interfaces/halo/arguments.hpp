// Argument block of the kernels of a halo exchange, and the places of cells that they share with the host.
#pragma once
#include "interfaces/lattice/arguments.hpp"

namespace byteways {

// Faces of a rank's tile, in the order of their exchange: first along x, then along y with the corners that x
// has brought.
enum HaloSide : unsigned int { kLeft = 0, kRight = 1, kBottom = 2, kTop = 3 };

// Tiles of `width` × `height` cells with a halo of `depth` cells around, `fields` one after the other.
//   "halo_stencil"   to = from and its four neighbours, of every cell within the halo
//   "halo_pack"      message = the `depth` cells next to a face, of all fields, row by row
//   "halo_unpack"    the halo beyond a face = message
//   "halo_boundary"  the halo beyond a face of the whole grid = the mirrored cells, continued
struct HaloArguments {
  const unsigned long long* from;  // stencil, pack, boundary: fields; unpack: the message
  unsigned long long* to;          // stencil, unpack, boundary: fields; pack: the message
  unsigned long long width, height, depth, fields;
  unsigned int side;
  unsigned int fence;  // device, pack: 1 to end by a fence, since the message may be in a peer's memory
};

BYTEWAYS_HOST_DEVICE inline unsigned long long halo_pitch(const HaloArguments& a) {
  return a.width + 2 * a.depth;
}
BYTEWAYS_HOST_DEVICE inline unsigned long long halo_field_words(const HaloArguments& a) {
  return halo_pitch(a) * (a.height + 2 * a.depth);
}
// Words of a message: columns without the corners, rows with them.
BYTEWAYS_HOST_DEVICE inline unsigned long long halo_row_words(const HaloArguments& a) {
  return a.side <= kRight ? a.depth : halo_pitch(a);
}
BYTEWAYS_HOST_DEVICE inline unsigned long long halo_rows(const HaloArguments& a) {
  return a.side <= kRight ? a.height : a.depth;
}

// The first word, within a field, of the strip beyond a face (`beyond`) or before it.
BYTEWAYS_HOST_DEVICE inline unsigned long long halo_strip(const HaloArguments& a, bool beyond) {
  const unsigned long long pitch = halo_pitch(a), in = beyond ? 0 : a.depth;
  switch (a.side) {
    case kLeft:
      return a.depth * pitch + in;
    case kRight:
      return a.depth * pitch + a.width + a.depth - in;
    case kBottom:
      return in * pitch;
    default:
      return (a.height + a.depth - in) * pitch;
  }
}

// Word i of a strip of all fields, counted row by row as in the message: its index in the fields.
BYTEWAYS_HOST_DEVICE inline unsigned long long halo_index(const HaloArguments& a, unsigned long long strip,
                                                          unsigned long long i) {
  const unsigned long long words = halo_row_words(a), rows = halo_rows(a);
  const unsigned long long row = i / words, field = row / rows;
  return field * halo_field_words(a) + strip + (row - field * rows) * halo_pitch(a) + (i - row * words);
}

// Cell k beyond a face mirrors cell k before it, as CloverLeaf's update_halo does: words between both, and
// the factor that continues the lattice. `at` counts the columns of a strip of x, or the rows of one of y.
struct HaloMirror {
  unsigned long long step, factor;
  bool low;  // the cell lies `step` words on; else as many back
};
BYTEWAYS_HOST_DEVICE inline HaloMirror halo_mirror(const HaloArguments& a, unsigned long long at) {
  const bool along_x = a.side <= kRight, low = a.side == kLeft || a.side == kBottom;
  // From the outermost cell on the left and bottom, from the innermost on the right and top.
  const unsigned long long distance = low ? 2 * (a.depth - at) - 1 : 2 * at + 1;
  const unsigned long long factor = along_x ? (low ? kBack : kAcross) : (low ? kDown : kUp);
  return {distance * (along_x ? 1 : halo_pitch(a)), lattice_power(factor, distance), low};
}

}  // namespace byteways
