// Base of all movers of collectives: what each rank sends and receives, whatever library carries it out.
#pragma once
#include <string>
#include <vector>

#include "interfaces/rank_mover.hpp"

namespace byteways {

inline constexpr int kRootRank = 0;

// The data that a rank receives. The size of a collective is that of its larger buffer, as in nccl-tests.
enum class Received {
  nothing,        // barrier
  sum,            // of all ranks, the whole size
  sum_of_block,   // of all ranks, this rank's block
  all_blocks,     // one block of each rank, in order
  block_of_each,  // this rank's block from each rank
  root_data,      // the whole size
  block_of_root,  // this rank's block
};

struct CollectiveRule {
  Received received;
  bool only_root_receives = false;
  bool in_blocks = false;  // the size is divided into one block for each rank
};

class CollectiveMover : public RankMover {
 protected:
  // `name`: "allreduce", "broadcast", … Throws Unsupported when it is no collective, when a buffer is
  // missing, or when the size cannot be divided among the ranks.
  CollectiveMover(Session& session, const Flow& flow, const std::string& name);

  std::uint64_t block_bytes() const { return block_bytes_; }
  // Of an integer: 8, or 4 if that is the size. Several of 4 bytes in a word would carry into each other when
  // the words are checked.
  std::uint64_t element_bytes() const { return flow_.size_bytes % kWord == 0 ? kWord : kWord / 2; }
  bool in_place() const { return in_place_; }
  // What operations read and write on this rank.
  RankSlots inputs() const;
  RankSlots outputs() const;
  Part input_in_place() const override;

 private:
  std::vector<Arrival> arrivals() const override;
  Weights weights(std::uint64_t times) const override;
  // This rank's block of a slot.
  std::uint64_t own_block() const { return static_cast<std::uint64_t>(rank()) * block_bytes_; }

  CollectiveRule rule_;
  std::uint64_t block_bytes_ = 0;
  bool in_place_ = false;
};

}  // namespace byteways
