// Base of the movers of scattered blocks: where they are, and their verification.
#pragma once
#include <memory>
#include <vector>

#include "interfaces/blocks/layout.hpp"
#include "interfaces/submission.hpp"

namespace byteways {

class BlocksMover : public SubmittedMover {
 protected:
  // `batches`: as of SubmittedMover.
  BlocksMover(Session& session, const Flow& flow, bool batches);

  std::uint64_t payload() const { return layout_.payload_bytes; }
  // Writes the addresses of blocks [first, first + count) of an operation: what a program does before each
  // transfer.
  void write_list(BlockPair* list, std::uint64_t operation, std::uint64_t first, std::uint64_t count) const;

  // All addresses of blocks on both sides, by or.
  std::uint64_t addresses() const;

  // Checks every word of the blocks, and that the words between and behind them still hold the destination's
  // poison.
  CheckResult check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index) override;
  // Checks the beginning of the slot, up to the first spoiled word that lies in a block.
  CheckResult check_some(std::byte* data, std::uint64_t words, std::uint64_t stride,
                         std::uint64_t first_index, std::uint64_t phase) override;

  BlockLayout layout_;

 private:
  // A part of the map of blocks, in memory that the destination's device reads, and the words of a slot from
  // its first block to that of the next part.
  struct MapPart {
    std::unique_ptr<Allocation> map;
    std::uint64_t blocks = 0, begin = 0, end = 0;
  };
  void make_map();
  CheckResult check_part(const MapPart& part, std::byte* data, std::uint64_t first, std::uint64_t words,
                         std::uint64_t first_index);

  std::vector<BlockPlace> places_;  // in the order of their destinations
  std::vector<MapPart> map_;
  bool map_lost_ = false;  // on its way to the device
};

}  // namespace byteways
