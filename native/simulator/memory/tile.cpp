// See tile.hpp.
#include "simulator/memory/tile.hpp"

#include <algorithm>

namespace byteways::sim {

const TileRegion& Tile::region(Word x, Word y) const {
  if (depth == 0) return inner;
  if (y < depth) return sides[2];
  if (y >= height - depth) return sides[3];
  if (x < depth) return sides[0];
  return x >= width - depth ? sides[1] : inner;
}

Word Tile::at(Word index) const {
  const Word x = (index - origin) % width, y = (index - origin) / width;
  return region(x, y).at(x, y);
}

Word Tile::factor() const {
  const bool equal =
      depth == 0 || std::all_of(sides.begin(), sides.end(), [&](const auto& side) { return side == inner; });
  return equal && inner.lattice ? inner.factor : 0;
}

Tile Tile::times(Word factor) const {
  Tile made = *this;
  made.inner.factor *= factor;
  for (TileRegion& side : made.sides) side.factor *= factor;
  return made;
}

}  // namespace byteways::sim
