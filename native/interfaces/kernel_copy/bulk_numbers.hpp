// How kernels that copy by bulk-copy instructions divide their bytes.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "interfaces/kernel_copy/arguments.hpp"

namespace byteways {

// Defaults found on H200 (docs/reference/peers.md): bulk copies saturate a link with a few warps.
inline constexpr unsigned kBulkBlocks = 8, kBulkThreads = 32;
inline constexpr unsigned kBulkChunkBytes = 16384, kBulkLeastChunkBytes = 4096;
inline constexpr unsigned kBulkBytesInFlight =
    13 * kBulkChunkBytes;  // fill the shared memory of an H200 multiprocessor

struct BulkNumbers {
  unsigned blocks = 0, chunk_bytes = 0, stages = 0;
  unsigned wanted_stages = 0;      // before those are left out that no block would have a chunk for
  std::uint64_t piece_chunks = 0;  // of one piece, the last one perhaps in part
  std::uint64_t chunks = 0;        // of all pieces

  // Of a block of the grid, with `own_bytes` beside barriers and chunks.
  std::uint64_t shared_bytes(unsigned own_bytes) const {
    return kBulkBarrierBytes + own_bytes + std::uint64_t{chunk_bytes} * wanted_stages;
  }
};

// For `pieces` contiguous pieces of `piece_bytes`. A number of 0 is replaced by the usual one.
inline BulkNumbers bulk_numbers(unsigned blocks, unsigned chunk_bytes, unsigned stages, std::uint64_t pieces,
                                std::uint64_t piece_bytes) {
  BulkNumbers made;
  made.blocks = blocks != 0 ? blocks : kBulkBlocks;
  // As measured on H100 (docs/reference/peers.md): a block has several chunks in flight where its share of
  // the data allows it.
  const std::uint64_t share = pieces * piece_bytes / made.blocks;
  std::uint64_t usual =
      std::clamp<std::uint64_t>(std::bit_ceil(share / 8), kBulkLeastChunkBytes, kBulkChunkBytes);
  if (pieces > 1) usual = std::min(usual, piece_bytes);
  made.chunk_bytes = chunk_bytes != 0 ? chunk_bytes : static_cast<unsigned>(usual);
  const std::uint64_t whole = piece_bytes / kBulkGrainBytes * kBulkGrainBytes;
  made.piece_chunks = (whole + made.chunk_bytes - 1) / made.chunk_bytes;
  made.chunks = pieces * made.piece_chunks;
  const unsigned usual_stages = std::clamp(kBulkBytesInFlight / made.chunk_bytes, 1u, kBulkMostStages);
  made.wanted_stages = stages != 0 ? stages : usual_stages;
  // No barriers for chunks that a block does not have.
  const std::uint64_t own = (made.chunks + made.blocks - 1) / made.blocks;
  made.stages = static_cast<unsigned>(std::clamp<std::uint64_t>(own, 1, made.wanted_stages));
  return made;
}

}  // namespace byteways
