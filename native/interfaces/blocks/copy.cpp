// Interface `copy-blocks`: the vendor's copy call for each block, the same calls recorded as a graph, or one
// batched call for all.
#include "interfaces/blocks/blocks_mover.hpp"
#include "interfaces/registry.hpp"

namespace byteways {
namespace {

class CopyBlocks final : public BlocksMover {
 public:
  CopyBlocks(Session& session, const Flow& flow) : BlocksMover(session, flow, true) {
    // Without peer access the driver stages the copies through the host: allowed, and reported as such.
    for (Buffer* buffer : {flow.source, flow.destination}) session.open_to(executor(), *buffer);
    traits_.entries_per_operation = layout_.blocks();
    // Each operation has a batched call of its own, so that other flows may run at the same time.
    if (flow.word("submit", "calls") == "batch") traits_.concurrency_obstacle.clear();
  }

 private:
  void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) override {
    Runtime& runtime = *executor().runtime;
    for (std::uint64_t k = first; k < first + count; ++k) {
      const std::byte* source = source_slot(k);
      std::byte* destination = destination_slot(k);
      for (const BlockClass& each : layout_.classes)
        for (std::uint64_t block = each.first; block < each.first + each.count; ++block)
          runtime.copy(destination + layout_.destinations[block], source + layout_.sources[block], each.bytes,
                       stream);
    }
  }

  // A call for each operation: copies in one call have no order, and operations may use the same blocks.
  void enqueue_batch(Stream& stream, std::uint64_t first, std::uint64_t count) override {
    for (std::uint64_t k = first; k < first + count; ++k) {
      pieces_.clear();
      const std::byte* source = source_slot(k);
      std::byte* destination = destination_slot(k);
      for (const BlockClass& each : layout_.classes)
        for (std::uint64_t block = each.first; block < each.first + each.count; ++block)
          pieces_.push_back(
              {destination + layout_.destinations[block], source + layout_.sources[block], each.bytes});
      executor().runtime->capability<CopyBatches>()->copy(pieces_, stream);
    }
  }

  std::vector<CopyPiece> pieces_;
};

std::unique_ptr<Mover> make_copy_blocks(Session& session, const Flow& flow) {
  if (flow.executor->is_host())
    throw Unsupported("copy-blocks", "executor", "the vendor's copy call needs a GPU's queue",
                      flow.executor->name());
  return make<CopyBlocks>(session, flow);
}

const RegisterInterface kCopyBlocks("copy-blocks", make_copy_blocks);

}  // namespace
}  // namespace byteways
