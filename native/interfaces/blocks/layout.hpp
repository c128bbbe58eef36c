// Where the blocks of a block copy are: N blocks of equal size, each at a place of its own on both sides.
#pragma once
#include <cstdint>
#include <vector>

#include "interfaces/blocks/arguments.hpp"
#include "interfaces/flow.hpp"

namespace byteways {

// Offsets of the blocks from the beginning of a slot, in bytes.
struct BlockLayout {
  std::uint64_t block_bytes = 0;
  std::uint64_t span_bytes = 0;  // of the side that extends further
  std::vector<std::uint64_t> sources, destinations;

  std::uint64_t blocks() const { return sources.size(); }
  std::uint64_t payload_bytes() const { return block_bytes * blocks(); }
  // The blocks in the order of their destinations.
  std::vector<BlockPlace> by_destination() const;
};

// Returns the layout that the options of a flow ask for: `block_bytes`, `layout`, `pitch_bytes` and
// `scattered`. Equal options give equal places. Throws Unsupported if there is none.
BlockLayout layout_of(const Flow& flow);

}  // namespace byteways
