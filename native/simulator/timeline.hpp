// The host's virtual time and what makes it pass: calls that take their time, waiting, and timers. The engine
// follows; it is never ahead of the host between two calls.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "simulator/engine.hpp"
#include "simulator/timers.hpp"

namespace byteways::sim {

using Lock = std::unique_lock<std::mutex>;  // of the one mutex that guards the machine

class Timeline {
 public:
  explicit Timeline(Engine& engine) : engine_(&engine) {}

  Picoseconds now() const { return host_; }
  // Every call's first act: what the host wrote into gates' words before it is seen, the call takes its time,
  // and timers go off that are due by then.
  void enter(Lock& lock, double cost_ns);
  // Lets happen what happens by now.
  void catch_up() { engine_->run(host_, nullptr); }
  // Lets things happen until `done`; time jumps to the next timer when nothing else is left. When nothing is
  // left at all, throws Failure (internal), or never returns if an operation hangs: as a real driver would.
  void wait_until(Lock& lock, const std::function<bool()>& done);

  std::uint64_t start_timer(std::int64_t delay_ns, std::function<void()> action);
  // Afterwards the action neither runs nor will run, unless it is the action that calls.
  void cancel_timer(Lock& lock, std::uint64_t ticket);

 private:
  void go_off(Lock& lock);      // the next timer
  bool acts_elsewhere() const;  // an action is under way on another thread

  Engine* engine_;
  Picoseconds host_ = 0;
  Timers timers_;
  // Actions run without the mutex, for they may take one that is held by somebody who waits for this one:
  // which are under way, and on which thread.
  std::map<std::uint64_t, std::thread::id> running_;
  std::condition_variable ended_;
};

}  // namespace byteways::sim
