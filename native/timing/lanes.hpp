// A lane is a mover with a queue of its own and what its warm-up taught about it. One lane alone is timed by
// events around a batch; lanes together run through a common window (window.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "movers/mover.hpp"
#include "timing/gate.hpp"
#include "timing/three_times.hpp"

namespace byteways {

struct Lane {
  Lane() = default;
  Lane(Lane&&) = default;
  Lane& operator=(Lane&&) = delete;
  // Waits for what is enqueued, which ends before what it works on may go: an error may come in the middle.
  ~Lane();

  std::unique_ptr<Mover> mover;
  std::shared_ptr<Stream> stream;  // flows that were asked to share one do
  std::unique_ptr<Event> begin, end;
  std::vector<std::unique_ptr<Event>> marks;
  bool blocking = false;  // its enqueue does not return while the queue is held, or moves the bytes itself
  std::string staged;  // how it is known that the driver copies through a buffer of its own; empty: it is not
  bool one_at_a_time = false;        // each operation is waited for before the next
  bool plain_end = false;            // the vendor's copy of memory that nobody locked
  std::string unobservable;          // why its engine must not be looked for; empty when it may be
  std::uint64_t next_operation = 0;  // operations are numbered on, so that cold buffers rotate
  double operation_ns = 0;           // alone, back to back, with the pause after it
  std::uint64_t pause_ns = 0;        // the queue idles so long after each operation
  PreparedKernel idle;               // by this kernel

  Agent& agent() const { return mover->executor(); }
  Runtime& runtime() const { return *mover->executor().runtime; }
  bool by_host_clock() const { return blocking || one_at_a_time; }
  // Enqueues the next `count` operations, each with its pause.
  void enqueue(std::uint64_t count);
  // Places that takes in the queue.
  std::uint64_t queue_entries(std::uint64_t count) const;
};

// A mover for each flow, with a queue of its own or the one that the flow shares. Throws Unsupported when one
// cannot run, or not together with others.
std::vector<Lane> make_lanes(Session& session, const std::vector<Flow>& flows);

// Of flows that run at once each is told how many share its executor.
void share_executors(std::vector<Flow>& flows);

// One sample at a time of whatever a case runs; warm-up first.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Warms up until steady and chooses the batch.
  virtual void warm_up() = 0;
  // The next one. Advances the lanes.
  virtual Sample sample() = 0;
  // Operations that the next sample() will run on a lane.
  virtual std::uint64_t operations(const Lane& lane) const = 0;
  // Doubles the batch where the queue allows it; false when it does not.
  virtual bool double_batch() = 0;
  // The step of the timer in the time of one sample, which is that of one operation.
  virtual double resolution_ns() const = 0;

  std::uint64_t batch() const { return batch_; }
  bool slope() const { return slope_; }
  bool gated() const { return gated_; }
  // Time of one operation behind the gate, where that is longer than without it and the gate is not used; 0:
  // it is not.
  double held_ns() const { return held_ns_; }
  // Of the length that a sample should have, what its batches come to; at most 1.
  double timed_part() const { return std::min(1.0, timed_part_); }

 protected:
  // A watchdog that opens the gate once costs a sample; one that goes on opening it ends gating, which the
  // samples before were under.
  void note_opening();

  std::uint64_t batch_ = 1;
  bool slope_ = false;
  bool gated_ = true;
  double held_ns_ = 0, timed_part_ = 1;

 private:
  int openings_ = 0;
};

struct MeasureOptions;

// Runs one lane's batch.
class SingleSampler final : public Sampler {
 public:
  SingleSampler(Session& session, Lane& lane, Gate* gate, const MeasureOptions& options);
  void warm_up() override;
  Sample sample() override;
  std::uint64_t operations(const Lane& lane) const override;
  bool double_batch() override;
  double resolution_ns() const override;

 private:
  Batch time_batch(std::uint64_t count);
  Batch time_batches(std::uint64_t count);
  bool gate_slows();
  void time_calls(Batch& batch);
  void time_round_trips(Batch& batch);
  // What is the figure of it: the device's time, or the host's where that is the clock.
  double figure_ns(const Batch& batch) const;
  double figure_of(std::uint64_t count) { return figure_ns(time_batch(count)); }
  bool counts_submission() const;
  void choose_batch();
  std::uint64_t most_operations() const;

  Session* session_;
  Lane* lane_;
  Gate* gate_;
  const MeasureOptions* options_;
  std::uint64_t repeats_ = 1;  // batches of one sample
};

// Finds out whether enqueueing blocks while the queue is held or moves the bytes itself, and the first-order
// time of an operation. Without a gate every lane counts as not blocking.
void learn_lane(Session& session, Lane& lane, Gate* gate, const MeasureOptions& options);

}  // namespace byteways
