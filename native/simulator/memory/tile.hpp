// Symbolic words of a lattice (interfaces/lattice/arguments.hpp): rows of a field, perhaps with a halo whose
// four sides were written by others.
#pragma once
#include <algorithm>
#include <array>
#include <memory>

#include "interfaces/lattice/arguments.hpp"

namespace byteways::sim {

using Word = unsigned long long;

// The words of a region: of the lattice with this factor for word (0, 0) of the tile, or all equal.
struct TileRegion {
  Word factor = 0;
  bool lattice = true;
  Word at(Word x, Word y) const {
    return lattice ? factor * lattice_power(kAcross, x) * lattice_power(kUp, y) : factor;
  }
  bool operator==(const TileRegion&) const = default;
};

struct Tile {
  Word origin = 0;                        // index of word (0, 0) in the block
  Word width = 1, height = 1, depth = 0;  // the halo within width and height
  TileRegion inner;
  std::array<TileRegion, 4> sides;  // left, right, bottom, top with the corners; without meaning at depth 0

  const TileRegion& region(Word x, Word y) const;
  Word at(Word index) const;
  // The factor of all words; 0 where they do not have one.
  Word factor() const;
  Tile times(Word factor) const;
  bool operator==(const Tile&) const = default;
};

inline const TileRegion& Tile::region(Word x, Word y) const {
  if (depth == 0) return inner;
  if (y < depth) return sides[2];
  if (y >= height - depth) return sides[3];
  if (x < depth) return sides[0];
  return x >= width - depth ? sides[1] : inner;
}

inline Word Tile::at(Word index) const {
  const Word x = (index - origin) % width, y = (index - origin) / width;
  return region(x, y).at(x, y);
}

inline Word Tile::factor() const {
  const bool equal =
      depth == 0 || std::all_of(sides.begin(), sides.end(), [&](const auto& side) { return side == inner; });
  return equal && inner.lattice ? inner.factor : 0;
}

inline Tile Tile::times(Word factor) const {
  Tile made = *this;
  made.inner.factor *= factor;
  for (TileRegion& side : made.sides) side.factor *= factor;
  return made;
}

}  // namespace byteways::sim
