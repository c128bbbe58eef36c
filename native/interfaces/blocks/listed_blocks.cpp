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
  std::uint64_t most = 0;
  for (const BlockClass& each : layout_.classes) most = std::max(most, each.count);
  of_a_launch_ = std::min<std::uint64_t>({most, kMostListedBlocks, kMostBlockAccesses / pieces});
  ring_ = std::make_unique<ListRing>(executor(), of_a_launch_);
  // Behind the gate a batch may have no more launches than the ring has lists.
  const std::uint64_t depth = executor().runtime->queue_depth(executor().ordinal);
  std::uint64_t launches = 0;
  for (const BlockClass& each : layout_.classes) launches += (each.count + of_a_launch_ - 1) / of_a_launch_;
  traits_.entries_per_operation =
      launches * ((depth + ListRing::most_launches() - 1) / ListRing::most_launches());
}

void ListedBlocks::enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t k = first; k < first + count; ++k)
    for (std::size_t of_class = 0; of_class < layout_.classes.size(); ++of_class)
      enqueue_class(stream, k, of_class);
}

void ListedBlocks::enqueue_class(Stream& stream, std::uint64_t operation, std::size_t of_class) {
  const BlockClass& each = layout_.classes[of_class];
  for (std::uint64_t moved = 0; moved < each.count; moved += of_a_launch_) {
    const std::uint64_t blocks = std::min(of_a_launch_, each.count - moved);
    BlockPair* list = ring_->next();
    write_list(list, operation, each.first + moved, blocks);
    launch(stream, of_class, list, blocks);
    ring_->launched(stream);
  }
}

}  // namespace byteways
