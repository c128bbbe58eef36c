// Discrete-event engine: operations in queues, shared resources, and completion times. It knows neither
// machines nor vendors. Time is in whole picoseconds and advances only in run().
//
// An operation is a fixed time followed by a flow of bytes, whose rate depends on concurrent flows. Other
// stages of this kind may precede it. At each instant the engine ends all stages that are due, starts all
// that can start, and computes the rates once.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/engine/fair_share.hpp"

namespace byteways::sim {

using Picoseconds = std::int64_t;
inline constexpr Picoseconds kNever = INT64_MAX;
inline constexpr int kNoActor = -1;  // the host as a whole (timeline.hpp)

inline Picoseconds picoseconds(double nanoseconds) {
  return static_cast<Picoseconds>(nanoseconds * 1000 + 0.5);
}

// The time at which a queue reached this point. Waiters share ownership.
struct Mark {
  Picoseconds time = -1;
  bool done() const { return time >= 0; }
};

// A word of host memory that an operation waits for (unsigned, at least `target`). The engine may simulate
// times in the past, so it must not read the word itself: poll() records the host time at which the word had
// the value.
struct Latch {
  const unsigned int* word = nullptr;
  unsigned int target = 0;
  Picoseconds opened = -1;
  int actor = kNoActor;  // whose program writes the word
};

// A fixed time, then a flow of bytes. A stage may wait for a mark first, for no longer than its patience: as
// a kernel does that polls a flag.
struct Stage {
  Picoseconds fixed = 0;
  double bytes = 0;  // 0: no flow
  Flow flow;
  std::shared_ptr<Mark> awaits = {};
  Picoseconds patience = kNever;
  std::function<void()> on_end = {};
};

struct Operation : Stage {
  Picoseconds ready = 0;        // earliest start: enqueue time plus the time to reach the device
  std::vector<Stage> before;    // stages that run first, in order: page migrations
  std::vector<int> pools;       // takes one token of each while it runs
  int processors = -1;          // runs on these multiprocessors …
  bool all_processors = false;  // … and leaves no room for others
  double threads = 0;           // … of which it uses this many
  int actor = kNoActor;         // that enqueued it
  bool never_ends = false;
  Latch latch;                  // if it has a word, the operation ends only when the word has its value
  std::shared_ptr<Mark> after;  // does not start before
  std::shared_ptr<Mark> mark;   // is set when it ends
  std::uint64_t* completed = nullptr;  // is counted up when it ends
  std::function<void()> on_start;

 private:
  friend class Engine;
  bool is_last_stage() const { return stage_ == before.size(); }
  Stage& stage() { return is_last_stage() ? *this : before[stage_]; }

  enum class State { queued, waiting, fixed, flowing, stuck } state_ = State::queued;
  std::size_t stage_ = 0;  // index of `before`, then the operation itself
  Picoseconds until_ = 0;  // end of the state, as far as is known
  double left_ = 0;        // bytes
  bool alone_ = false;     // the bytes of this stage share nothing: `until_` is the end of both
};

class Engine {
 public:
  struct Queue {  // of operations that run one after another
    std::deque<std::unique_ptr<Operation>> operations;
    Picoseconds free_at = 0;
    Picoseconds rests_until = 0;  // its first operation does nothing before, whatever else happens
  };

  int add_resource(double bytes_per_s);
  void set_capacity(int resource, double bytes_per_s);
  double capacity(int resource) const { return capacities_.at(static_cast<std::size_t>(resource)); }
  int add_pool(int tokens);
  // `threads`: how many they hold at once.
  int add_processors(double threads);
  Queue* add_queue();

  void enqueue(Queue& queue, std::unique_ptr<Operation> operation);
  // Opens latches of an actor, and of none, whose words are there; `host` is its time.
  void poll(Picoseconds host, int actor = kNoActor);
  Picoseconds now() const { return now_; }
  // Runs all events up to and including `limit`, or until `done` returns true after an instant. Returns false
  // if no event is left before the limit; now() is then the time of the last event. `done` may depend on what
  // operations do when they start and end, and on nothing else that happens meanwhile.
  bool run(Picoseconds limit, const std::function<bool()>& done);
  bool has_stuck() const { return stuck_ > 0; }
  // Nothing is queued anywhere, or nothing that the actor enqueued.
  bool idle(int actor = kNoActor) const;

 private:
  struct Processors {
    double threads = 0;  // room
    double used = 0;
    int running = 0;
    bool taken = false;
  };
  Picoseconds next_instant();
  Picoseconds start_of(const Queue& queue) const;
  bool can_start(const Operation& operation) const;
  void start(Queue& queue);
  bool advance(Queue& queue);  // advances past the current state if it ends now
  void begin_stage(Operation& operation);
  void finish(Queue& queue);
  void settle();  // processes this instant until nothing changes
  void find_rates();

  Picoseconds now_ = 0;
  std::vector<double> capacities_;
  std::vector<int> tokens_;
  std::vector<Processors> processors_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<Queue*> active_;  // with operations
  std::map<int, int> pending_;  // operations that an actor enqueued
  std::vector<Operation*> flowing_;
  std::vector<Operation*> latched_;  // in queues, with latches that are shut
  Picoseconds rates_since_ = 0;
  bool rates_stale_ = false;
  bool settled_ = true;        // nothing was added or opened since settle(), and then …
  Picoseconds next_ = kNever;  // … this is when something happens next
  int stuck_ = 0;
  std::uint64_t effects_ = 0;                            // starts and ends that others may see
  std::vector<Flow*> flows_;                             // scratch of find_rates()
  std::vector<std::pair<Picoseconds, Queue*>> waiting_;  // scratch of settle()
};

}  // namespace byteways::sim
