// Base of the two samplers: for a single flow (single_sampler.hpp) and for concurrent flows (window.hpp). And
// the rules for everything that is timed in batches, by them or by another library (timed_calls.hpp): how
// long a batch is, when it is warm, and what a slope between two batches says.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "timing/flow_runner.hpp"
#include "timing/rank_skew.hpp"

namespace byteways {

inline constexpr double kLeastDeviceBatchNs = 2e6;  // starting a batch takes a device about 4 µs: 0.2 %
// Both vendors state 0.5 us for the difference of two events. Some report finer steps, but that does not make
// the clock finer, so batch lengths assume the larger of the two.
inline constexpr double kStatedResolutionNs = 500;
inline constexpr double kTicksPerSample = 500;               // resolution then adds at most 0.2 % to a sample
inline constexpr std::uint64_t kSlopeBelowBytes = 64 << 10;  // below this the fixed cost of a batch matters
inline constexpr double kBatchWarmUpShare = 0.2;             // fraction of the time budget
inline constexpr std::uint64_t kLeastSamples = 3;            // of a round
// Of all rounds together: the range of 5 samples covers the median in only 93.75 % of cases.
inline constexpr std::uint64_t kLeastForInterval = 6;

// Returns the samples that a round takes at least, whatever its time.
constexpr std::uint64_t least_samples(std::uint64_t rounds) {
  return std::max(kLeastSamples, (kLeastForInterval + rounds - 1) / rounds);
}

struct BatchBounds {
  double wanted_ns = 0;               // least time of a sample
  std::uint64_t least = 1, most = 1;  // operations; a batch is a multiple of `least`
};

// Grows `batch` until a sample takes long enough or has the most operations. Returns the time of a sample.
// `time_of_sample` measures one of the present batch.
double grow(std::uint64_t& batch, const BatchBounds& bounds, const std::function<double()>& time_of_sample);

// Returns whether a batch takes as long as another one, within what counts as steady.
bool steady(double before_ns, double now_ns);
// Repeats batches until their times are steady; at most a fixed number of times, and while time is left. Goes
// on as long as `clocks_rise`. `before_ns`: the time of the batch before.
void run_until_steady(double before_ns, const std::function<double()>& run,
                      const std::function<bool()>& time_is_left, const std::function<bool()>& clocks_rise);

// Returns the time of one operation from a batch and one of twice the length; where the slope is disturbed
// (Slopes::judge), an upper bound instead of a meaningless value.
double slope_of(const std::string& disturbed, double once_ns, double twice_ns, std::uint64_t batch);

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
