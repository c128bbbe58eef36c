// The gate holds streams until a whole batch is enqueued, so that launch overhead is not timed and all
// streams start together. Calls that block while the gate is shut would deadlock, so a watchdog opens it
// after a time limit and the sample is `ungated`.
//
// On a GPU the gate kernel runs in its own stream, and the held streams wait for its event. A copy behind a
// kernel of the same stream would include the switch from the compute engine to the copy engine: 64 KiB
// between two H200 took 5.2 us ungated, 5.4 us behind an event of another stream and 9.1 us behind a kernel
// in its own stream (one copy between two events, 2026-11-22).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtimes/session.hpp"

namespace byteways {

class Gate {
 public:
  // `memory_owner` allocates the flag so that every device of the measurement can read it.
  Gate(Session& session, Device& memory_owner);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Shuts the gate. The watchdog opens it after `timeout`.
  void shut(Nanoseconds timeout);
  // Makes a stream wait for the gate. Call between shut() and open().
  void hold(Device& device, Stream& stream);
  // False once the gate was opened, also by the watchdog.
  bool is_shut() const;
  // Opens the gate. Returns false if the watchdog had already opened it.
  bool open();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace byteways
