// The grid and the chunks of kernels that copy by bulk-copy instructions.
#pragma once
#include <cstdint>

#include "interfaces/flow.hpp"
#include "runtimes/queue.hpp"

namespace byteways {

struct BulkShape {
  unsigned blocks = 0, chunk_bytes = 0, stages = 0;
  std::uint64_t piece_chunks = 0;  // of one piece, the last one perhaps in part
  std::uint64_t chunks = 0;        // of all pieces
  LaunchShape launch{0, 0, 0};
};

// Returns the shape for `pieces` contiguous pieces of `piece_bytes`, with the options `blocks`, `chunk_bytes`
// and `stages` of the flow. `own_bytes`: shared memory of a block of the grid beside barriers and chunks.
// Throws Unsupported if the device has less of it.
BulkShape bulk_shape(const Flow& flow, const KernelInfo& info, std::uint64_t pieces,
                     std::uint64_t piece_bytes, unsigned own_bytes = 0);

}  // namespace byteways
