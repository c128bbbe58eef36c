// What the two samplers have in common: one flow alone (single_sampler.hpp), several at once (window.hpp).
#pragma once
#include <algorithm>
#include <cstdint>

#include "timing/flow_runner.hpp"

namespace byteways {

// Takes the samples of one case, after a warm-up.
class Sampler {
 public:
  explicit Sampler(Team& team) : team_(&team) {}
  virtual ~Sampler() = default;
  // Warms up until steady and chooses the batch.
  virtual void warm_up() = 0;
  // The next one. Advances the flows.
  virtual Sample sample() = 0;
  // Operations that the next sample() will run on a flow.
  virtual std::uint64_t operations(const FlowRunner& runner) const = 0;
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
  // Whether the watchdog opened the gate of some rank. Once, that costs a sample; where it goes on, it ends
  // gating, which the samples before were under.
  bool note_opening(bool opened);
  // Time by `clock` that this rank waited until all had arrived.
  double wait_for_all(Clock& clock) const;

  Team* team_;
  std::uint64_t batch_ = 1;
  bool slope_ = false;
  bool gated_ = true;
  double held_ns_ = 0, timed_part_ = 1;

 private:
  int openings_ = 0;
};

}  // namespace byteways
