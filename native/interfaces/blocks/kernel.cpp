// Interface `kernel-blocks` on a GPU, `memcpy-blocks` on a CPU: scattered blocks by the executor's own loads
// and stores.
#include <algorithm>
#include <bit>

#include "interfaces/blocks/blocks_mover.hpp"
#include "interfaces/blocks/list_ring.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

void set_divisor(BlocksArguments& arguments) {
  arguments.shift = 31u + static_cast<unsigned>(std::bit_width(arguments.per_block - 1));
  arguments.factor = static_cast<unsigned>(((std::uint64_t{1} << arguments.shift) + arguments.per_block - 1) /
                                           arguments.per_block);
}

class KernelBlocks final : public BlocksMover {
 public:
  KernelBlocks(Session& session, const Flow& flow) : BlocksMover(session, flow, false) {
    require_access(session, flow);
    arguments_.access_bytes = static_cast<unsigned>(widest_access());
    const std::uint64_t per_block = layout_.block_bytes / arguments_.access_bytes;
    if (per_block > kMostBlockAccesses)
      throw Unsupported(flow.interface, "blocks", "a kernel copies blocks of at most 8 GiB",
                        executor().name());
    arguments_.per_block = static_cast<unsigned>(per_block);
    arguments_.fence = must_fence(executor(), flow.destination->device()) ? 1u : 0u;
    set_divisor(arguments_);
    of_a_launch_ =
        std::min<std::uint64_t>({layout_.blocks(), kMostListedBlocks, kMostBlockAccesses / per_block});
    choice_ = choose_kernel(flow, {"copy_blocks", "copy_blocks", "copy_blocks_resident"},
                            of_a_launch_ * per_block, kTileAccesses);
    const unsigned tiles = choice_.kernel.name == "copy_blocks" ? 1 : 2;
    choice_.shape.shared_bytes = tiles * choice_.shape.threads * static_cast<unsigned>(sizeof(BlockPair));
    ring_ = std::make_unique<ListRing>(executor(), of_a_launch_);
    use_own_kernel(choice_.shape);
    traits_.entries_per_operation = launches() * entries_of_a_launch();
  }

 private:
  std::uint64_t launches() const { return (layout_.blocks() + of_a_launch_ - 1) / of_a_launch_; }

  // Behind the gate a batch may have no more launches than the ring has lists.
  std::uint64_t entries_of_a_launch() const {
    const std::uint64_t depth = executor().runtime->queue_depth(executor().ordinal);
    return (depth + ListRing::most_launches() - 1) / ListRing::most_launches();
  }

  std::uint64_t widest_access() const {
    std::uint64_t addresses = reinterpret_cast<std::uintptr_t>(flow_.source->data()) |
                              reinterpret_cast<std::uintptr_t>(flow_.destination->data()) |
                              slots_.stride_bytes | layout_.block_bytes;
    for (const auto* offsets : {&layout_.sources, &layout_.destinations})
      for (const std::uint64_t offset : *offsets) addresses |= offset;
    return std::min<std::uint64_t>(kAccessBytes, addresses & (~addresses + 1));
  }

  void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) override {
    for (std::uint64_t k = first; k < first + count; ++k)
      for (std::uint64_t block = 0; block < layout_.blocks(); block += of_a_launch_)
        launch(stream, k, block, std::min(of_a_launch_, layout_.blocks() - block));
  }

  void launch(Stream& stream, std::uint64_t operation, std::uint64_t first, std::uint64_t blocks) {
    BlockPair* list = ring_->next();
    write_list(list, operation, first, blocks);
    BlocksArguments arguments = arguments_;
    arguments.list = list;
    arguments.accesses = static_cast<unsigned>(blocks * arguments.per_block);
    executor().runtime->launch(executor().ordinal, choice_.kernel, choice_.shape, &arguments,
                               sizeof arguments, stream);
    ring_->launched(stream);
  }

  BlocksArguments arguments_{};
  KernelChoice choice_;
  std::uint64_t of_a_launch_ = 0;  // blocks
  std::unique_ptr<ListRing> ring_;
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

std::unique_ptr<Mover> make_kernel_blocks(Session& session, const Flow& flow) {
  if (flow.executor->is_host())
    throw Unsupported(flow.interface, "executor", "kernel-blocks runs on a GPU; a CPU executes memcpy-blocks",
                      flow.executor->name());
  return std::make_unique<KernelBlocks>(session, flow);
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
const RegisterInterface kKernelBlocks("kernel-blocks", make_kernel_blocks);
const RegisterInterface kMemcpyBlocks("memcpy-blocks", make_memcpy_blocks);

}  // namespace
}  // namespace byteways
