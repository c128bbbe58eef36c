// The three times of a sample: device time, submission time, and host time. Each can be wrong, but not all in
// the same way. If they contradict each other, the sample is discarded and repeated, or another clock is
// used.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "timing/trace.hpp"

namespace byteways {

// In ns per operation; 0: not measured.
struct Times {
  double device_ns = 0;  // between two events around the batch
  double submit_ns = 0;  // duration of the enqueuing calls
  double host_ns = 0;    // from the first call until the host has seen the end
};

// Times of one batch, in ns for the whole batch.
struct Batch {
  Times times;
  std::uint64_t operations = 1;
  bool gated = false;  // the gate held it until all of it was enqueued
  bool gate_opened =
      false;  // the watchdog opened the gate: later operations were enqueued while earlier ones ran
  double resolution_ns = 0;  // of the device's timer
  double begin_ns = 0;       // by the clock of the host
  Times of_one() const;
};

// Returns why the batch is invalid: "gate-opened", "clocks-disagree"; empty if it is valid.
std::string contradiction(const Batch& batch);

// Slopes of a series: the time of `count` operations is that of a batch of twice as many less that of a batch
// of `count`. What disturbs the shorter batch lowers the slope, below any time that an operation can take.
class Slopes {
 public:
  // For shorter batches that ran without a longer one, in ns.
  void note(double shorter_ns);
  // Returns why this slope counts for nothing: "no-slope" if it is not positive, "low-slope" if it is less
  // than half the difference of the shortest batches so far; empty if it counts.
  std::string judge(double shorter_ns, double longer_ns);

 private:
  double least_shorter_ns_ = 0, least_longer_ns_ = 0;  // 0: none yet
};

// Returns whether the call itself moved the bytes, for memory that is not page-locked: submission takes a
// large part of the device time, or more. The events then see only the last part of the copy. `call_ns`:
// duration of a call that moves nothing.
bool moved_by_call(const Times& times, double call_ns);

// One sample: its time, the three times, and the traces of concurrent flows.
struct Sample {
  double time_ns = 0;
  Times times;
  std::string discard;  // why it is discarded; empty: it counts
  WindowSample window;  // only for concurrent flows, with a trace of each
  std::vector<Trace> traces;
};

// The samples of a case. Samples with contradictory times are discarded. If they are too many they are kept,
// because leaving them out would flatter the result.
class Series {
 public:
  void add(Sample sample);
  void clear() { *this = Series(); }
  // Call after the last sample: keeps discarded samples if they are too many.
  void settle();
  // Times of the samples that count, in ns.
  const std::vector<double>& times_ns() const { return times_ns_; }
  const std::vector<Sample>& counted() const { return counted_; }
  const std::vector<Sample>& discarded() const { return discarded_; }
  // Share of the samples with contradictory times, and whether they are kept.
  double discarded_share() const;
  bool keeps_all() const { return keeps_all_; }
  std::uint64_t taken() const { return taken_; }

 private:
  std::vector<double> times_ns_;
  std::vector<Sample> counted_, discarded_;
  std::vector<std::uint64_t> places_;  // position of each discarded sample among those that count
  std::uint64_t taken_ = 0;
  bool keeps_all_ = false;
};

// Above this share discarded samples are kept.
inline constexpr double kMostDiscarded = 0.1;

}  // namespace byteways
