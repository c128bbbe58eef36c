// See timers.hpp.
#include "simulator/engine/timers.hpp"

#include <algorithm>

namespace byteways::sim {

std::uint64_t Timers::start(Picoseconds at, int actor, std::function<void()> action) {
  timers_[++tickets_] = {at, actor, std::move(action)};
  return tickets_;
}

std::map<std::uint64_t, Timer>::const_iterator Timers::find_next() const {
  return std::min_element(timers_.begin(), timers_.end(),
                          [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
}

Picoseconds Timers::next() const {
  const auto next = find_next();
  return next == timers_.end() ? kNever : next->second.at;
}

std::pair<std::uint64_t, Timer> Timers::take() {
  const auto next = find_next();
  const std::pair taken(next->first, next->second);
  timers_.erase(next);
  return taken;
}

}  // namespace byteways::sim
