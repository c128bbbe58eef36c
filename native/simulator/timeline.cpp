// See timeline.hpp.
#include "simulator/timeline.hpp"

#include <unistd.h>

#include <algorithm>

#include "simulator/world.hpp"

namespace byteways::sim {

void Timeline::go_off(Lock& lock) {
  const Picoseconds due = timers_.next();
  const auto [ticket, action] = timers_.take();
  engine_->run(due, nullptr);  // what comes before it comes first
  host_ = std::max(host_, due);
  running_[ticket] = std::this_thread::get_id();
  lock.unlock();
  action();
  lock.lock();
  running_.erase(ticket);
  ended_.notify_all();
  // What it wrote was there when it was due, however long the call takes that let it go off.
  engine_->poll(std::max(due, engine_->now()));
}

void Timeline::enter(Lock& lock, double cost_ns) {
  engine_->poll(host_);
  host_ += picoseconds(cost_ns);
  while (timers_.next() <= host_) go_off(lock);
}

bool Timeline::acts_elsewhere() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const auto& action) { return action.second != std::this_thread::get_id(); });
}

void Timeline::wait_until(Lock& lock, const std::function<bool()>& done) {
  for (;;) {
    engine_->poll(host_);
    const Picoseconds due = timers_.next();
    if (engine_->run(due, done)) {
      host_ = std::max(host_, engine_->now());
      return;
    }
    if (due != kNever) {
      go_off(lock);
    } else if (acts_elsewhere()) {
      ended_.wait(
          lock);  // the action may bring it about: a rank waits while another lets a gate's timer go off
    } else if (!engine_->has_stuck()) {
      throw Failure(Code::internal,
                    "deadlock in the simulated program: it waits for what nothing brings about");
    } else {
      lock.unlock();
      for (;;) pause();  // whoever started this process has to notice
    }
  }
}

std::uint64_t Timeline::start_timer(std::int64_t delay_ns, std::function<void()> action) {
  const Picoseconds delay = picoseconds(static_cast<double>(std::max<std::int64_t>(0, delay_ns)));
  return timers_.start(host_ + delay, std::move(action));
}

void Timeline::cancel_timer(Lock& lock, std::uint64_t ticket) {
  timers_.cancel(ticket);
  ended_.wait(lock, [&] {
    const auto found = running_.find(ticket);
    return found == running_.end() || found->second == std::this_thread::get_id();
  });
}

}  // namespace byteways::sim
