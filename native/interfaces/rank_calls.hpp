// What a thread calls for one rank: the operations of a mover between ranks, cut so that one thread can call
// for all ranks (single_thread.hpp).
//
// An operation consists of steps, which the stream of each rank carries out in order. Calls of one step wait
// for those of other ranks: where one thread makes them all, they are together() in one group.
#pragma once
#include <cstdint>
#include <functional>

#include "runtimes/queue.hpp"

namespace byteways {

class RankCalls {
 public:
  // 2 where a rank has to receive before it sends.
  virtual int steps() const { return 1; }
  // Called once before the calls of operations [first, first + count).
  virtual void begin(std::uint64_t, std::uint64_t) {}
  virtual void call(Stream& stream, std::uint64_t operation, int step) = 0;
  // Runs `calls`, which are calls of one step, of several ranks.
  virtual void together(const std::function<void()>& calls) { calls(); }

 protected:
  ~RankCalls() = default;
};

}  // namespace byteways
