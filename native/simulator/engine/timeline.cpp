// See timeline.hpp: virtual time, for a single clock and for actors (see actors.cpp).
#include "simulator/engine/timeline.hpp"

#include <unistd.h>

#include <algorithm>

#include "simulator/machine/common.hpp"

namespace byteways::sim {

Timeline& Timeline::of_process() {
  static Timeline* const timeline = new Timeline;  // never destroyed: threads may leave it during exit
  return *timeline;
}

void Timeline::play(Engine& engine) {
  engine_ = &engine;
  host_ = 0;
  timers_ = {};
  for (auto& [rank, actor] : actors_) actor.clock = 0;
}

Picoseconds Timeline::now() const {
  const auto found = actors_.find(actor());
  return found == actors_.end() ? host_ : found->second.clock;
}

void Timeline::go_off(Lock& lock) {
  const Picoseconds due = timers_.next();
  const auto [ticket, timer] = timers_.take();
  engine_->run(due, nullptr);  // process earlier events first
  if (actors_.empty()) host_ = std::max(host_, due);
  running_[ticket] = std::this_thread::get_id();
  lock.unlock();
  timer.action();
  lock.lock();
  running_.erase(ticket);
  ended_.notify_all();
  wake_everyone();
  // Its writes count from the moment it was due, even if the call that triggered it returns later.
  engine_->poll(std::max(due, engine_->now()), timer.actor);
}

void Timeline::enter(Lock& lock, double cost_ns) {
  if (Actor* const me = self()) {
    await_turn(lock, *me);
    engine_->poll(me->clock, actor());
    me->clock += picoseconds(cost_ns);
    await_turn(lock, *me);
    return;
  }
  // A thread that is not an actor only observes: it does not advance time.
  if (!actors_.empty()) {
    host_ = std::max(host_, engine_->now());
    return;
  }
  engine_->poll(host_);
  host_ += picoseconds(cost_ns);
  while (timers_.next() <= host_) go_off(lock);
}

void Timeline::catch_up() {
  if (actors_.empty()) engine_->run(host_, nullptr);
}

bool Timeline::acts_elsewhere() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const auto& action) { return action.second != std::this_thread::get_id(); });
}

void Timeline::wait_until(Lock& lock, const Wait& wait) {
  if (Actor* const me = self()) return wait_among_actors(lock, *me, wait);
  if (actors_.empty()) return wait_alone(lock, wait);
  const int key = std::min(kNoActor, actors_.begin()->first) - 1;
  Actor& me = actors_[key];
  list_actors();
  me.state = Actor::State::running;
  me.clock = std::max(host_, engine_->now());
  try {
    wait_among_actors(lock, me, wait);
  } catch (...) {
    close(lock, key, Actor::State::left);
    throw;
  }
  close(lock, key, Actor::State::left);
}

void Timeline::wait_alone(Lock& lock, const Wait& wait) {
  for (;;) {
    engine_->poll(host_);
    const Picoseconds due = timers_.next();
    if (engine_->run(due, wait.done)) {
      host_ = std::max(host_, engine_->now());
      return;
    }
    if (due != kNever) {
      go_off(lock);
    } else if (acts_elsewhere()) {
      ended_.wait(lock);  // the action may cause it: a rank waits while another one triggers a gate's timer
    } else if (!engine_->has_stuck()) {
      throw Failure(Code::internal,
                    "deadlock in the simulated program: it waits for what nothing brings about");
    } else {
      lock.unlock();
      for (;;) pause();  // the process that started this one must notice
    }
  }
}

std::uint64_t Timeline::start_timer(std::int64_t delay_ns, std::function<void()> action) {
  const Picoseconds delay = picoseconds(static_cast<double>(std::max<std::int64_t>(0, delay_ns)));
  return timers_.start(now() + delay, actor(), std::move(action));
}

void Timeline::cancel_timer(Lock& lock, std::uint64_t ticket) {
  timers_.cancel(ticket);
  ended_.wait(lock, [&] {
    const auto found = running_.find(ticket);
    return found == running_.end() || found->second == std::this_thread::get_id();
  });
}

}  // namespace byteways::sim
