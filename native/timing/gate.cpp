// See gate.hpp. The flag only ever grows: a stream waits for the number of its batch, so nothing is reset
// while a late reader may still look.
#include "timing/gate.hpp"

#include <chrono>

#include "kernels/arguments.hpp"

namespace byteways {

struct Gate::State {
  unsigned int* word = nullptr;
  unsigned int target = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::chrono::steady_clock::time_point deadline;  // of the watchdog, which guards against a real hang
  bool shut = false, opened_by_watchdog = false, ending = false;
  std::thread watchdog;

  void release() { std::atomic_ref<unsigned int>(*word).store(target, std::memory_order_release); }

  void watch() {
    std::unique_lock lock(mutex);
    while (!ending) {
      if (!shut) {
        changed.wait(lock, [&] { return shut || ending; });
      } else if (std::chrono::steady_clock::now() < deadline) {
        const auto until = deadline;  // the next shut() moves it, perhaps before this thread is awake
        changed.wait_until(lock, until);
      } else {
        opened_by_watchdog = true;
        shut = false;
        release();
      }
    }
  }
};

Gate::Gate(Session& session, Agent& memory_owner) : state_(std::make_unique<State>()) {
  state_->word = session.gate_word(memory_owner);
  state_->target = std::atomic_ref<unsigned int>(*state_->word).load();
  state_->watchdog = std::thread([state = state_.get()] { state->watch(); });
}

Gate::~Gate() {
  {
    std::lock_guard lock(state_->mutex);
    state_->ending = true;
    if (state_->shut) state_->release();  // nothing may stay held behind a gate that is gone
  }
  state_->changed.notify_all();
  state_->watchdog.join();
}

void Gate::shut(Nanoseconds timeout) {
  std::lock_guard lock(state_->mutex);
  ++state_->target;
  state_->shut = true;
  state_->opened_by_watchdog = false;
  state_->deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout);
  state_->changed.notify_all();
}

void Gate::hold(Agent& agent, Stream& stream) {
  const GateArguments arguments{state_->word, state_->target};
  agent.runtime->launch(agent.device, "gate", {1, 1, 0}, &arguments, sizeof arguments, stream);
}

bool Gate::is_shut() const {
  std::lock_guard lock(state_->mutex);
  return state_->shut;
}

bool Gate::open() {
  std::lock_guard lock(state_->mutex);
  state_->shut = false;
  state_->release();
  state_->changed.notify_all();
  return !state_->opened_by_watchdog;
}

}  // namespace byteways
