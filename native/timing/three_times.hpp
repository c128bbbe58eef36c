// The three times of a sample: what the device says, what the calls took the host, and what the host waited
// in all. Each can be wrong by itself, not all in the same way: where they contradict each other the sample
// is discarded and taken again, or another clock is the one that sees the work.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "timing/trace.hpp"

namespace byteways {

// In ns of one operation; 0: not seen.
struct Times {
  double device_ns = 0;  // between two events around the batch
  double submit_ns = 0;  // in the calls that enqueue it
  double host_ns = 0;    // from the first call until the host has seen the end
};

// One batch as it was timed, in ns of the whole batch.
struct Batch {
  Times times;
  std::uint64_t operations = 1;
  bool gated = false;        // it waited until all of it was enqueued
  bool gate_opened = false;  // not by us: the watchdog was first, and what followed was enqueued while it ran
  double resolution_ns = 0;  // of the device's timer
  Times of_one() const;
};

// Why the batch cannot be right: "gate-opened", "clocks-disagree"; empty where nothing says so.
std::string contradiction(const Batch& batch);

// Whether the call itself moved the bytes: of memory that nobody locked, and where submitting takes a good
// part of what the device needs, or more. The device then saw the last leg alone. `call_ns`: what a call
// costs that moves nothing.
bool moved_by_call(const Times& times, double call_ns);

// One sample: the figure, its three times, what concurrent flows did.
struct Sample {
  double time_ns = 0;
  Times times;
  std::string discard;  // why it is not to be counted; empty: it is
  WindowSample window;  // of concurrent flows, with a trace of each
  std::vector<Trace> traces;
};

// The samples of a case. Those that contradict themselves are set aside; where they are too many they count,
// or leaving them out would flatter.
class Series {
 public:
  void add(Sample sample);
  void clear() { *this = Series(); }
  // After the last one.
  void settle();
  // Of the samples that count.
  const std::vector<double>& times_ns() const { return times_ns_; }
  const std::vector<Sample>& counted() const { return counted_; }
  const std::vector<Sample>& discarded() const { return discarded_; }
  // Part of all that were found wanting, and whether they count nevertheless.
  double discarded_share() const;
  bool keeps_all() const { return keeps_all_; }
  std::uint64_t taken() const { return taken_; }

 private:
  std::vector<double> times_ns_;
  std::vector<Sample> counted_, discarded_;
  std::vector<std::uint64_t> places_;  // of those discarded, among those counted
  std::uint64_t taken_ = 0;
  bool keeps_all_ = false;
};

// Above it those discarded count.
inline constexpr double kMostDiscarded = 0.1;

}  // namespace byteways
