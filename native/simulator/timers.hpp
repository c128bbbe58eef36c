// Virtual-time callbacks, run by the thread that advances the clock.
#pragma once
#include <functional>
#include <map>
#include <utility>

#include "simulator/engine.hpp"

namespace byteways::sim {

class Timers {
 public:
  // Returns a ticket for cancel().
  std::uint64_t start(Picoseconds at, std::function<void()> action);
  void cancel(std::uint64_t ticket) { timers_.erase(ticket); }
  // Returns the time of the next callback; kNever if there is none.
  Picoseconds next() const;
  // Removes the next callback and returns its ticket and action. If two have the same time, the one started
  // first.
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
