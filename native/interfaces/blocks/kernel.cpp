// Interfaces `kernel-blocks` and `bulk-blocks` on a GPU, `memcpy-blocks` on a CPU: scattered blocks by the
// executor's own loads and stores.
#include "interfaces/blocks/blocks_kernel.hpp"
#include "interfaces/blocks/divisor.hpp"
#include "interfaces/kernel_copy/bulk_shape.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

class KernelBlocks final : public ListedBlocks {
 public:
  KernelBlocks(Session& session, const Flow& flow) : ListedBlocks(session, flow) {
    use_lists(BlocksKernel::accesses(layout_.block_bytes, addresses()));
    kernel_ = BlocksKernel(flow, layout_.block_bytes, of_a_launch_, addresses());
    traits_.shape = kernel_.shape();
    moved_by_own("loads and stores of a kernel that this process launched");
  }

 private:
  void launch(Stream& stream, const BlockPair* list, std::uint64_t blocks) override {
    kernel_.launch(executor(), stream, list, blocks);
  }

  BlocksKernel kernel_;
};

class BulkBlocks final : public ListedBlocks {
 public:
  BulkBlocks(Session& session, const Flow& flow) : ListedBlocks(session, flow) {
    kernel_ = require_kernel(flow, executor(), "copy_blocks_bulk");
    const BulkShape shape =
        bulk_shape(flow, kernel_.info, layout_.blocks(), layout_.block_bytes, kBulkPairsBytes);
    use_lists(shape.piece_chunks);
    arguments_.block_bytes = layout_.block_bytes;
    arguments_.per_block = static_cast<unsigned>(shape.piece_chunks);
    arguments_.chunk_bytes = shape.chunk_bytes;
    arguments_.stages = shape.stages;
    set_divisor(arguments_);
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

const gpu::RegisterKernels<BulkBlocksArguments> kBulkBlocksKernel("interfaces/blocks/bulk.cu",
                                                                  {"copy_blocks_bulk"},
                                                                  gpu::Needs::bulk_copies);
const RegisterInterface kKernelBlocks("kernel-blocks", make_on_gpu<KernelBlocks>);
const RegisterInterface kBulkBlocks("bulk-blocks", make_on_gpu<BulkBlocks>);
const RegisterInterface kHostBlocks("memcpy-blocks", make_memcpy_blocks);

}  // namespace
}  // namespace byteways
