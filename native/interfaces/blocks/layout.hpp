// Where the blocks of a block copy are: each at a place of its own on both sides.
#pragma once
#include <cstdint>
#include <vector>

#include "interfaces/blocks/arguments.hpp"
#include "interfaces/flow.hpp"

namespace byteways {

// Blocks of equal size, which follow each other in a layout.
struct BlockClass {
  std::uint64_t bytes = 0, first = 0, count = 0;
};

// Offsets of the blocks from the beginning of a slot, in bytes.
struct BlockLayout {
  std::vector<BlockClass> classes;
  std::uint64_t unit_bytes = 0;  // sizes of such an operation are multiples of it
  std::uint64_t payload_bytes = 0;
  std::uint64_t span_bytes = 0;  // of the side that extends further
  std::vector<std::uint64_t> sources, destinations;

  std::uint64_t blocks() const { return sources.size(); }
  // Of interfaces that move blocks of one size.
  std::uint64_t block_bytes() const { return classes.front().bytes; }
  // The blocks in the order of their destinations.
  std::vector<BlockPlace> by_destination() const;
};

// Returns the layout that the options of a flow ask for: `block_bytes` or `block_sizes` ("48x16384,2x65536"),
// `layout`, `pitch_bytes` and `scattered`. Equal options give equal places. Throws Unsupported if there is
// none.
BlockLayout layout_of(const Flow& flow);

}  // namespace byteways
