// Interfaces `kernel-blocks` and `bulk-blocks` on a GPU, `memcpy-blocks` on a CPU: scattered blocks by the
// executor's own loads and stores.
#include <algorithm>

#include "interfaces/blocks/listed_blocks.hpp"
#include "interfaces/kernel_copy/bulk_shape.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

class KernelBlocks final : public ListedBlocks {
 public:
  KernelBlocks(Session& session, const Flow& flow) : ListedBlocks(session, flow) {
    arguments_.access_bytes = static_cast<unsigned>(widest_access());
    const std::uint64_t per_block = layout_.block_bytes / arguments_.access_bytes;
    use_lists(per_block);
    arguments_.per_block = static_cast<unsigned>(per_block);
    arguments_.fence = must_fence(executor(), flow.destination->device()) ? 1u : 0u;
    set_divisor(arguments_.per_block, arguments_.factor, arguments_.shift);
    choice_ = choose_kernel(flow, {"copy_blocks", "copy_blocks", "copy_blocks_resident"},
                            of_a_launch_ * per_block, kTileAccesses);
    const unsigned tiles = choice_.kernel.name == "copy_blocks" ? 1 : 2;
    choice_.shape.shared_bytes = tiles * choice_.shape.threads * static_cast<unsigned>(sizeof(BlockPair));
    traits_.shape = choice_.shape;
    moved_by_own("loads and stores of a kernel that this process launched");
  }

 private:
  std::uint64_t widest_access() const {
    std::uint64_t addresses = reinterpret_cast<std::uintptr_t>(flow_.source->data()) |
                              reinterpret_cast<std::uintptr_t>(flow_.destination->data()) |
                              slots_.stride_bytes | layout_.block_bytes;
    for (const auto* offsets : {&layout_.sources, &layout_.destinations})
      for (const std::uint64_t offset : *offsets) addresses |= offset;
    return std::min<std::uint64_t>(kAccessBytes, addresses & (~addresses + 1));
  }

  void launch(Stream& stream, const BlockPair* list, std::uint64_t blocks) override {
    BlocksArguments arguments = arguments_;
    arguments.list = list;
    arguments.accesses = static_cast<unsigned>(blocks * arguments.per_block);
    executor().runtime->launch(executor().ordinal, choice_.kernel, choice_.shape, &arguments,
                               sizeof arguments, stream);
  }

  BlocksArguments arguments_{};
  KernelChoice choice_;
};

class BulkBlocks final : public ListedBlocks {
 public:
  BulkBlocks(Session& session, const Flow& flow) : ListedBlocks(session, flow) {
    kernel_ = require_kernel(flow, executor(), "copy_blocks_bulk");
    const BulkShape shape =
        bulk_shape(flow, kernel_.info, layout_.blocks(), layout_.block_bytes, kBulkPairsBytes);
    use_lists(shape.piece_chunks);
    arguments_ = {.block_bytes = layout_.block_bytes,
                  .per_block = static_cast<unsigned>(shape.piece_chunks),
                  .chunk_bytes = shape.chunk_bytes,
                  .stages = shape.stages};
    set_divisor(arguments_.per_block, arguments_.factor, arguments_.shift);
    traits_.shape = shape.launch;
    moved_by_own("bulk-copy instructions of a kernel that this process launched");
  }

 private:
  void launch(Stream& stream, const BlockPair* list, std::uint64_t blocks) override {
    BulkBlocksArguments arguments = arguments_;
    arguments.list = list;
    arguments.chunks = static_cast<unsigned>(blocks * arguments.per_block);
    executor().runtime->launch(executor().ordinal, kernel_, traits_.shape, &arguments, sizeof arguments,
                               stream);
  }

  PreparedKernel kernel_;
  BulkBlocksArguments arguments_{};
};

class HostBlocks final : public BlocksMover {
 public:
  HostBlocks(Session& session, const Flow& flow) : BlocksMover(session, flow, false) {
    require_access(session, flow);
    list_.resize(layout_.blocks());
    write_list(list_.data(), 0, 0, list_.size());
    kernel_ = require_kernel(flow, executor(), "memcpy_blocks");
    use_own_kernel({flow.count("threads", 1, kMostTeam), 1, 0});
  }

 private:
  void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) override {
    const MemcpyBlocksArguments arguments{
        list_.data(), layout_.blocks(), layout_.block_bytes, slots_.count, slots_.stride_bytes, first, count};
    executor().runtime->launch(executor().ordinal, kernel_, traits_.shape, &arguments, sizeof arguments,
                               stream);
  }

  std::vector<BlockPair> list_;  // of slot 0
  PreparedKernel kernel_;
};

template <class OnGpu>
std::unique_ptr<Mover> make_on_gpu(Session& session, const Flow& flow) {
  if (flow.executor->is_host())
    throw Unsupported(flow.interface, "executor", "it runs on a GPU; a CPU executes memcpy-blocks",
                      flow.executor->name());
  return std::make_unique<OnGpu>(session, flow);
}
std::unique_ptr<Mover> make_memcpy_blocks(Session& session, const Flow& flow) {
  if (!flow.executor->is_host())
    throw Unsupported(flow.interface, "executor",
                      "memcpy-blocks runs on CPU cores; a GPU executes copy-blocks or kernel-blocks",
                      flow.executor->name());
  return std::make_unique<HostBlocks>(session, flow);
}

const gpu::RegisterKernels<BlocksArguments> kCopyBlocksKernels("interfaces/blocks/kernel.cu",
                                                               {"copy_blocks", "copy_blocks_resident"});
const gpu::RegisterKernels<BulkBlocksArguments> kBulkBlocksKernel("interfaces/blocks/bulk.cu",
                                                                  {"copy_blocks_bulk"},
                                                                  gpu::Needs::bulk_copies);
const RegisterInterface kKernelBlocks("kernel-blocks", make_on_gpu<KernelBlocks>);
const RegisterInterface kBulkBlocks("bulk-blocks", make_on_gpu<BulkBlocks>);
const RegisterInterface kMemcpyBlocks("memcpy-blocks", make_memcpy_blocks);

}  // namespace
}  // namespace byteways
