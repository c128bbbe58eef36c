// See blocks_kernel.hpp.
#include "interfaces/blocks/blocks_kernel.hpp"

#include <algorithm>

#include "interfaces/blocks/divisor.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

std::uint64_t widest_access(std::uint64_t addresses) {
  return std::min<std::uint64_t>(kAccessBytes, addresses & (~addresses + 1));
}

const gpu::RegisterKernels<BlocksArguments> kCopyBlocksKernels("interfaces/blocks/kernel.cu",
                                                               {"copy_blocks", "copy_blocks_resident"});

}  // namespace

std::uint64_t BlocksKernel::accesses(std::uint64_t block_bytes, std::uint64_t addresses) {
  return block_bytes / widest_access(addresses | block_bytes);
}

BlocksKernel::BlocksKernel(const Flow& flow, std::uint64_t block_bytes, std::uint64_t most_blocks,
                           std::uint64_t addresses) {
  arguments_.access_bytes = static_cast<unsigned>(widest_access(addresses | block_bytes));
  arguments_.per_block = static_cast<unsigned>(accesses(block_bytes, addresses));
  arguments_.fence = must_fence(*flow.executor, flow.destination->device()) ? 1u : 0u;
  set_divisor(arguments_);
  choice_ = choose_kernel(flow, {"copy_blocks", "copy_blocks", "copy_blocks_resident"},
                          most_blocks * arguments_.per_block, kTileAccesses);
  const unsigned tiles = choice_.kernel.name == "copy_blocks" ? 1 : 2;
  choice_.shape.shared_bytes = tiles * choice_.shape.threads * static_cast<unsigned>(sizeof(BlockPair));
}

void BlocksKernel::launch(Device& by, Stream& stream, const BlockPair* list, std::uint64_t blocks) const {
  BlocksArguments arguments = arguments_;
  arguments.list = list;
  arguments.accesses = static_cast<unsigned>(blocks * arguments.per_block);
  by.runtime->launch(by.ordinal, choice_.kernel, choice_.shape, &arguments, sizeof arguments, stream);
}

}  // namespace byteways
