// Base of the kernels that read where the blocks are from a list, which the host writes for every launch.
#pragma once
#include <memory>

#include "interfaces/blocks/blocks_mover.hpp"
#include "interfaces/blocks/list_ring.hpp"

namespace byteways {

class ListedBlocks : public BlocksMover {
 protected:
  ListedBlocks(Session& session, const Flow& flow);
  // Call in the constructor: sets the most blocks of one launch, of up to `pieces` accesses or chunks each.
  void use_lists(std::uint64_t pieces);
  // Launches the kernel that moves the first blocks of a list, all of one of the layout's classes.
  virtual void launch(Stream& stream, std::size_t of_class, const BlockPair* list, std::uint64_t blocks) = 0;

  std::uint64_t of_a_launch_ = 0;  // blocks

 private:
  void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) override;
  void enqueue_class(Stream& stream, std::uint64_t operation, std::size_t of_class);
  std::unique_ptr<ListRing> ring_;
};

}  // namespace byteways
