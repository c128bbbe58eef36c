// Interfaces `kernel-blocks` and `bulk-blocks` on a GPU, `memcpy-blocks` on a CPU: scattered blocks by the
// executor's own loads and stores.
#include <algorithm>

#include "interfaces/blocks/blocks_kernel.hpp"
#include "interfaces/blocks/divisor.hpp"
#include "interfaces/kernel_copy/arguments.hpp"
#include "interfaces/kernel_copy/bulk_shape.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

// A launch for each size of blocks.
class KernelBlocks final : public ListedBlocks {
 public:
  KernelBlocks(Session& session, const Flow& flow) : ListedBlocks(session, flow) {
    const std::uint64_t all = addresses();
    std::uint64_t most = 0;
    for (const BlockClass& each : layout_.classes)
      most = std::max(most, BlocksKernel::accesses(each.bytes, all));
    use_lists(most);
    for (const BlockClass& each : layout_.classes)
      kernels_.emplace_back(flow, each.bytes, std::min(of_a_launch_, each.count), all);
    traits_.shape = kernels_.front().shape();
    moved_by_own("loads and stores of a kernel that this process launched");
  }

 private:
  void launch(Stream& stream, std::size_t of_class, const BlockPair* list, std::uint64_t blocks) override {
    kernels_[of_class].launch(executor(), stream, list, blocks);
  }

  std::vector<BlocksKernel> kernels_;
};

class BulkBlocks final : public ListedBlocks {
 public:
  BulkBlocks(Session& session, const Flow& flow) : ListedBlocks(session, flow) {
    kernel_ = require_kernel(flow, executor(), "copy_blocks_bulk");
    std::uint64_t all = addresses(), most = 0;
    for (const BlockClass& each : layout_.classes) {
      all |= each.bytes;
      const BulkShape shape = bulk_shape(flow, kernel_.info, each.count, each.bytes, kBulkPairsBytes);
      most = std::max(most, shape.piece_chunks);
      add(each, shape);
    }
    if (all % kBulkGrainBytes != 0)
      throw Unsupported(flow.interface, "blocks",
                        "bulk copies move multiples of 16 bytes, between multiples of 16", executor().name());
    use_lists(most);
    traits_.shape = launches_.front().shape;
    moved_by_own("bulk-copy instructions of a kernel that this process launched");
  }

 private:
  struct Launch {
    LaunchShape shape;
    BulkBlocksArguments arguments;
  };

  void add(const BlockClass& blocks, const BulkShape& shape) {
    BulkBlocksArguments arguments{};
    arguments.block_bytes = blocks.bytes;
    arguments.per_block = static_cast<unsigned>(shape.piece_chunks);
    arguments.chunk_bytes = shape.chunk_bytes;
    arguments.stages = shape.stages;
    set_divisor(arguments);
    launches_.push_back({shape.launch, arguments});
  }

  void launch(Stream& stream, std::size_t of_class, const BlockPair* list, std::uint64_t blocks) override {
    BulkBlocksArguments arguments = launches_[of_class].arguments;
    arguments.list = list;
    arguments.chunks = static_cast<unsigned>(blocks * arguments.per_block);
    executor().runtime->launch(executor().ordinal, kernel_, launches_[of_class].shape, &arguments,
                               sizeof arguments, stream);
  }

  PreparedKernel kernel_;
  std::vector<Launch> launches_;
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
    const MemcpyBlocksArguments arguments{list_.data(), layout_.blocks(),    layout_.block_bytes(),
                                          slots_.count, slots_.stride_bytes, first,
                                          count};
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
