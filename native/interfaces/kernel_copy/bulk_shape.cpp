// See bulk_shape.hpp.
#include "interfaces/kernel_copy/bulk_shape.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "interfaces/kernel_copy/arguments.hpp"
#include "runtimes/session.hpp"

namespace byteways {
namespace {

// Defaults found on H200 (docs/reference/peers.md): bulk copies saturate a link with a few warps.
constexpr unsigned kBulkBlocks = 8;
constexpr unsigned kBulkChunkBytes = 16384, kBulkLeastChunkBytes = 4096;
constexpr unsigned kBulkBytesInFlight =
    13 * kBulkChunkBytes;  // fill the shared memory of an H200 multiprocessor
constexpr unsigned kBulkThreads = 32;

constexpr std::uint64_t whole_grains(std::uint64_t bytes) {
  return bytes / kBulkGrainBytes * kBulkGrainBytes;
}

// As measured on H100 (docs/reference/peers.md): a block has several chunks in flight where its share of the
// data allows it.
std::uint64_t usual_chunk(std::uint64_t share_bytes) {
  return std::clamp<std::uint64_t>(std::bit_ceil(share_bytes / 8), kBulkLeastChunkBytes, kBulkChunkBytes);
}

unsigned shared_bytes(const Flow& flow, const KernelInfo& info, const BulkShape& shape, unsigned own_bytes) {
  const std::uint64_t chunk = shape.chunk_bytes, stages = shape.stages;
  if (chunk % kBulkGrainBytes != 0)
    throw Unsupported(flow.interface, "chunk_bytes",
                      std::to_string(chunk) + " is not a multiple of " + std::to_string(kBulkGrainBytes),
                      flow.executor->name());
  const std::uint64_t shared = kBulkBarrierBytes + own_bytes + chunk * stages;
  if (shared > info.max_shared_bytes)
    throw Unsupported(flow.interface, "shared memory",
                      std::to_string(stages) + " stages of " + std::to_string(chunk) + " bytes need " +
                          std::to_string(shared) + " bytes a block, the device has " +
                          std::to_string(info.max_shared_bytes),
                      flow.executor->name());
  return static_cast<unsigned>(shared);
}

}  // namespace

BulkShape bulk_shape(const Flow& flow, const KernelInfo& info, std::uint64_t pieces,
                     std::uint64_t piece_bytes, unsigned own_bytes) {
  BulkShape shape;
  shape.blocks = flow.count("blocks", kBulkBlocks);
  std::uint64_t usual = usual_chunk(pieces * piece_bytes / shape.blocks);
  if (pieces > 1) usual = std::min(usual, piece_bytes);
  shape.chunk_bytes = flow.count("chunk_bytes", static_cast<unsigned>(usual));
  shape.piece_chunks = (whole_grains(piece_bytes) + shape.chunk_bytes - 1) / shape.chunk_bytes;
  shape.chunks = pieces * shape.piece_chunks;
  const unsigned usual_stages = std::clamp(kBulkBytesInFlight / shape.chunk_bytes, 1u, kBulkMostStages);
  shape.stages = flow.count("stages", usual_stages, kBulkMostStages);
  const unsigned shared = shared_bytes(flow, info, shape, own_bytes);
  // No barriers for chunks that a block does not have.
  const std::uint64_t own = (shape.chunks + shape.blocks - 1) / shape.blocks;
  shape.stages = static_cast<unsigned>(std::clamp<std::uint64_t>(own, 1, shape.stages));
  shape.launch = {shape.blocks, kBulkThreads, shared};
  return shape;
}

}  // namespace byteways
