// A gate holds streams back until all of a batch is enqueued, so that launch cost is not in the timing and
// all streams start together. Calls that block while the gate is shut would deadlock: a watchdog opens it in
// time and the sample is `ungated`.
//
// On a GPU the kernel that watches the gate runs in a stream of its own, and the streams that are held wait
// for its event. A copy behind a kernel of the same stream pays for the change from the compute engine to the
// copy engine: 64 KiB between two H200 took 5.2 us ungated, 5.4 us behind an event of another stream and 9.1
// us behind a kernel in its own stream (one copy between two events, 2026-11-22).
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

  // Shuts the gate; the watchdog opens it after `timeout`.
  void shut(Nanoseconds timeout);
  // Makes a stream wait for the gate. Call between shut() and open().
  void hold(Device& device, Stream& stream);
  // False once it was opened, by the watchdog too.
  bool is_shut() const;
  // Opens it. Returns false when the watchdog had to do it first.
  bool open();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace byteways
