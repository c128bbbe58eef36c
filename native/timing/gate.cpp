// See gate.hpp. The flag only ever grows: a stream waits for the number of its batch, so nothing is reset
// while a late reader may still look.
#include "timing/gate.hpp"

#include <map>
#include <utility>

#include "interfaces/service/arguments.hpp"

namespace byteways {

struct Gate::State {
  // Location of the kernel that polls the gate on one GPU.
  struct Watch {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> opened;
    unsigned int target = 0;  // the number it waits for; 0: none yet
  };

  unsigned int* word = nullptr;
  std::mutex mutex;
  unsigned int target = 0;
  bool shut = false, opened_by_watchdog = false;
  std::map<std::pair<Runtime*, int>, Watch> watches;
  std::unique_ptr<Watchdog> watchdog;  // last member: its action uses the above

  // Call with the mutex held.
  void release() { std::atomic_ref<unsigned int>(*word).store(target, std::memory_order_release); }
  void time_out() {
    const std::lock_guard lock(mutex);
    if (!shut) return;
    opened_by_watchdog = true;
    shut = false;
    release();
  }
};

Gate::Gate(Session& session, Device& memory_owner) : state_(std::make_unique<State>()) {
  state_->word = session.gate_word(memory_owner);
  state_->target = std::atomic_ref<unsigned int>(*state_->word).load();
  state_->watchdog = session.clock().watchdog([state = state_.get()] { state->time_out(); });
}

Gate::~Gate() {
  const std::lock_guard lock(state_->mutex);
  if (state_->shut) state_->release();  // release streams before the gate is destroyed
  state_->shut = false;
}

void Gate::shut(Nanoseconds timeout) {
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->target;
    state_->shut = true;
    state_->opened_by_watchdog = false;
  }
  state_->watchdog->arm(timeout);
}

void Gate::hold(Device& device, Stream& stream) {
  Runtime& runtime = *device.runtime;
  const GateArguments arguments{state_->word, state_->target};
  const auto watch_in = [&](Stream& queue) {
    runtime.launch(device.ordinal, runtime.prepare(device.ordinal, "gate"), {1, 1, 0}, &arguments,
                   sizeof arguments, queue);
  };
  if (device.is_host()) return watch_in(stream);
  State::Watch& watch = state_->watches[{&runtime, device.ordinal}];
  if (watch.stream == nullptr) {
    watch.stream = runtime.create_stream(device.ordinal);
    watch.opened = runtime.create_event(device.ordinal);
  }
  if (watch.target != state_->target) {  // one kernel holds all streams of a GPU
    watch_in(*watch.stream);
    runtime.record(*watch.opened, *watch.stream);
    watch.target = state_->target;
  }
  runtime.wait(stream, *watch.opened);
}

bool Gate::is_shut() const {
  const std::lock_guard lock(state_->mutex);
  return state_->shut;
}

bool Gate::open() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->shut = false;
    state_->release();
  }
  state_->watchdog->disarm();
  const std::lock_guard lock(state_->mutex);
  return !state_->opened_by_watchdog;
}

}  // namespace byteways
