// Base of the two samplers: for a single flow (single_sampler.hpp) and for concurrent flows (window.hpp).
#pragma once
#include <algorithm>
#include <cstdint>

#include "timing/flow_runner.hpp"
#include "timing/rank_skew.hpp"

namespace byteways {

// Takes the samples of one case, after a warm-up.
class Sampler {
 public:
  explicit Sampler(Team& team) : team_(&team) {}
  virtual ~Sampler() = default;
  // Runs until times are steady, and chooses the batch size.
  virtual void warm_up() = 0;
  // Takes the next sample. Advances the flows.
  virtual Sample sample() = 0;
  // Returns the operations that the next sample() will run on a flow.
  virtual std::uint64_t operations(const FlowRunner& runner) const = 0;
  // Doubles the batch. Returns false if the queue has no room for it.
  virtual bool double_batch() = 0;
  // Returns the step of the timer relative to one operation, in ns.
  virtual double resolution_ns() const = 0;

  std::uint64_t batch() const { return batch_; }
  bool slope() const { return slope_; }
  bool gated() const { return gated_; }
  // Time of one operation behind the gate in ns, if the gate slows it and is therefore not used; else 0.
  double held_ns() const { return held_ns_; }
  // Length of a sample relative to the required length; at most 1.
  double timed_part() const { return std::min(1.0, timed_part_); }
  SkewLog& skew() { return skew_; }

 protected:
  // Returns whether the watchdog opened the gate on any rank: the sample is then discarded. After several
  // openings the gate is no longer used, and the series restarts.
  bool note_opening(bool opened);
  // Waits until all ranks have arrived. Returns the waiting time of this rank by `clock`, in ns.
  double wait_for_all(Clock& clock) const;

  Team* team_;
  std::uint64_t batch_ = 1;
  bool slope_ = false;
  bool gated_ = true;
  double held_ns_ = 0, timed_part_ = 1;
  SkewLog skew_;  // of the ranks of a team

 private:
  int openings_ = 0;
};

}  // namespace byteways
