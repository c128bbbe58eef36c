// See bulk_shape.hpp.
#include "interfaces/kernel_copy/bulk_shape.hpp"

#include <string>

#include "runtimes/session.hpp"

namespace byteways {
namespace {

unsigned shared_bytes(const Flow& flow, const KernelInfo& info, const BulkShape& shape, unsigned own_bytes) {
  if (shape.chunk_bytes % kBulkGrainBytes != 0)
    throw Unsupported(
        flow.interface, "chunk_bytes",
        std::to_string(shape.chunk_bytes) + " is not a multiple of " + std::to_string(kBulkGrainBytes),
        flow.executor->name());
  const std::uint64_t shared = shape.shared_bytes(own_bytes);
  if (shared > info.max_shared_bytes)
    throw Unsupported(flow.interface, "shared memory",
                      std::to_string(shape.wanted_stages) + " stages of " +
                          std::to_string(shape.chunk_bytes) + " bytes need " + std::to_string(shared) +
                          " bytes a block, the device has " + std::to_string(info.max_shared_bytes),
                      flow.executor->name());
  return static_cast<unsigned>(shared);
}

}  // namespace

BulkShape bulk_shape(const Flow& flow, const KernelInfo& info, std::uint64_t pieces,
                     std::uint64_t piece_bytes, unsigned own_bytes) {
  // An option that the flow does not have is 0 here.
  const auto option = [&](const char* name, auto... most) {
    return flow.options.find(name) == flow.options.end() ? 0u : flow.count(name, 0, most...);
  };
  BulkShape shape;
  static_cast<BulkNumbers&>(shape) = bulk_numbers(option("blocks"), option("chunk_bytes"),
                                                  option("stages", kBulkMostStages), pieces, piece_bytes);
  shape.launch = {shape.blocks, kBulkThreads, shared_bytes(flow, info, shape, own_bytes)};
  return shape;
}

}  // namespace byteways
