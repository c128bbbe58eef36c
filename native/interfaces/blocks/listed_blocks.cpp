// See listed_blocks.hpp.
#include "interfaces/blocks/listed_blocks.hpp"

#include <algorithm>

namespace byteways {

ListedBlocks::ListedBlocks(Session& session, const Flow& flow) : BlocksMover(session, flow, false) {
  require_access(session, flow);
}

void ListedBlocks::use_lists(std::uint64_t pieces) {
  if (pieces > kMostBlockAccesses)
    throw Unsupported(flow_.interface, "blocks", "a kernel numbers at most 2^30 accesses of a block",
                      executor().name());
  of_a_launch_ = std::min<std::uint64_t>({layout_.blocks(), kMostListedBlocks, kMostBlockAccesses / pieces});
  ring_ = std::make_unique<ListRing>(executor(), of_a_launch_);
  // Behind the gate a batch may have no more launches than the ring has lists.
  const std::uint64_t depth = executor().runtime->queue_depth(executor().ordinal);
  const std::uint64_t launches = (layout_.blocks() + of_a_launch_ - 1) / of_a_launch_;
  traits_.entries_per_operation =
      launches * ((depth + ListRing::most_launches() - 1) / ListRing::most_launches());
}

void ListedBlocks::enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t k = first; k < first + count; ++k) {
    for (std::uint64_t block = 0; block < layout_.blocks(); block += of_a_launch_) {
      const std::uint64_t blocks = std::min(of_a_launch_, layout_.blocks() - block);
      BlockPair* list = ring_->next();
      write_list(list, k, block, blocks);
      launch(stream, list, blocks);
      ring_->launched(stream);
    }
  }
}

}  // namespace byteways
