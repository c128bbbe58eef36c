// What is to be done when a time comes, by whoever makes it come.
#pragma once
#include <functional>
#include <map>
#include <utility>

#include "simulator/engine.hpp"

namespace byteways::sim {

class Timers {
 public:
  // Answers a ticket for cancel().
  std::uint64_t start(Picoseconds at, std::function<void()> action);
  void cancel(std::uint64_t ticket) { timers_.erase(ticket); }
  // Time of the next one; kNever when there is none.
  Picoseconds next() const;
  // Takes the next one out and answers its ticket and what it is to do; of two at one time, the one that was
  // started first.
  std::pair<std::uint64_t, std::function<void()>> take();

 private:
  struct Timer {
    Picoseconds at;
    std::function<void()> action;
  };
  std::map<std::uint64_t, Timer>::const_iterator find_next() const;

  std::map<std::uint64_t, Timer> timers_;  // by ticket
  std::uint64_t tickets_ = 0;
};

}  // namespace byteways::sim
