// A gate holds streams back until all of a batch is enqueued, so that launch cost is not in the timing and
// all streams start together. Calls that block while the gate is shut would deadlock: a watchdog opens it in
// time and the sample is `ungated`.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtimes/session.hpp"

namespace byteways {

class Gate {
 public:
  // `memory_owner` allocates the flag so that every agent of the measurement can read it.
  Gate(Session& session, Agent& memory_owner);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Shuts the gate; the watchdog opens it after `timeout`.
  void shut(Nanoseconds timeout);
  // Enqueues the wait on a stream. Call between shut() and open().
  void hold(Agent& agent, Stream& stream);
  // False once it was opened, by the watchdog too.
  bool is_shut() const;
  // Opens it. Returns false when the watchdog had to do it first.
  bool open();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace byteways
