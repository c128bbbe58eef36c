// Virtual-time callbacks, run by the thread that advances the clock.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "simulator/engine/engine.hpp"

namespace byteways::sim {

struct Timer {
  Picoseconds at = 0;
  int actor = kNoActor;  // who started it
  std::function<void()> action;
};

class Timers {
 public:
  // Returns a ticket for cancel().
  std::uint64_t start(Picoseconds at, int actor, std::function<void()> action);
  void cancel(std::uint64_t ticket) { timers_.erase(ticket); }
  // Returns the time of the next callback; kNever if there is none.
  Picoseconds next() const;
  // Removes the next callback and returns its ticket and the timer. If two have the same time, the one
  // started first.
  std::pair<std::uint64_t, Timer> take();

 private:
  std::map<std::uint64_t, Timer>::const_iterator find_next() const;

  std::map<std::uint64_t, Timer> timers_;  // by ticket
  std::uint64_t tickets_ = 0;
};

inline std::uint64_t Timers::start(Picoseconds at, int actor, std::function<void()> action) {
  timers_[++tickets_] = {at, actor, std::move(action)};
  return tickets_;
}

inline std::map<std::uint64_t, Timer>::const_iterator Timers::find_next() const {
  return std::min_element(timers_.begin(), timers_.end(),
                          [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
}

inline Picoseconds Timers::next() const {
  const auto next = find_next();
  return next == timers_.end() ? kNever : next->second.at;
}

inline std::pair<std::uint64_t, Timer> Timers::take() {
  const auto next = find_next();
  const std::pair taken(next->first, next->second);
  timers_.erase(next);
  return taken;
}

}  // namespace byteways::sim
