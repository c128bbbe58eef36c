// Launch mode `single`: one thread calls for the ranks of all GPUs. A mover of all ranks, made of the movers
// that each of them would have alone.
//
// Every rank's operations run on a stream of its own GPU. Those of the other ranks fork from the first rank's
// stream at the beginning of a batch and join it at the end, by events: so the time of a batch on the first
// rank's stream is that of the slowest rank.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "interfaces/mover.hpp"
#include "interfaces/rank_calls.hpp"
#include "interfaces/registry.hpp"

namespace byteways {

class SingleThreadMover final : public Mover {
 public:
  using MakeRank = std::function<std::unique_ptr<Mover>(Session&, const Flow&)>;
  // `make_rank` makes the mover of one rank, which is also its RankCalls. Throws Unsupported when it is not,
  // when the ranks' GPUs have different runtimes, and what `make_rank` throws.
  SingleThreadMover(Session& session, const Flow& flow, const MakeRank& make_rank);

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override;
  void prepare(std::uint64_t key) override;
  void spoil(std::uint64_t first_operation, std::uint64_t count) override;
  // The sum over all ranks; the first wrong word is that of the first rank that has one.
  Verification verify(std::uint64_t first_operation, std::uint64_t count) override;
  Verification spot_check(std::uint64_t first_operation, std::uint64_t count) override;

 private:
  struct Rank {
    std::unique_ptr<Mover> mover;
    RankCalls* calls = nullptr;
    std::unique_ptr<Stream> stream;  // null for the first rank, which uses that of enqueue()
    std::unique_ptr<Event> ended;    // the same
  };
  template <class Look>
  Verification of_all(const Look& look);

  std::vector<Rank> ranks_;
  std::unique_ptr<Event> begun_;
};

}  // namespace byteways
