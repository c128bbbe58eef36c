// Measures one case: warm-up, batches behind the gate, the common window of concurrent flows, the stopping
// rule, verification. Everything a record says about time comes from here.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "interfaces/mover.hpp"
#include "timing/statistics.hpp"
#include "timing/team.hpp"
#include "timing/three_times.hpp"

namespace byteways {

inline constexpr int kMethodVersion = 7;  // raise when a change of method may change figures

struct MeasureOptions {
  double precision = 0.01;   // wanted half-width of the interval, relative to the median
  std::uint64_t rounds = 1;  // in which the case is measured: the samples needed count over all of them
  double budget_s = 1.0;     // sampling stops here at the latest (at least 3 samples are taken)
  std::uint64_t max_samples = 400;
  bool interference = false;  // only the first flow is measured, the others disturb
  bool gate = true;
  double gate_timeout_s = 0.25;  // watchdog
  std::uint64_t batch = 0;       // 0: grow to 500 ticks of the timer; concurrent flows run at least 4
  bool cap_depth = true;         // false only in tests of the watchdog
  std::uint64_t key = 1;         // of the data patterns
  std::vector<int> cores;        // logical CPUs of the calling thread; empty: those next to the executor
};

struct Warning {
  std::string id;
  double observed = 0, required = 0;
  std::string unit;
};

struct FlowResult {
  double bytes_per_s = 0;             // in the common window; measured flows: its share of their median sum
  double end_to_end_bytes_per_s = 0;  // median over samples, from gate to the last flow's end
  double start_skew_ns = 0;           // median of this flow's start after the first
  Verification verification;
  LaunchShape shape;
  std::map<std::string, double> parts;  // of the bytes, by path, where they take several
  // Of managed pages: before and after one untimed operation, and what the timed batches left of those that
  // had to move.
  std::vector<SideResidency> before, after, timed;
  std::uint64_t bytes_per_touch = 0;
};

// A sample that contradicted itself and was taken again.
struct Discarded {
  std::string reason;  // "gate-opened", "clocks-disagree", "no-slope"
  double time_ns = 0;
};

struct Measurement {
  std::vector<double>
      samples_ns;            // one operation; concurrent: one operation of every flow at the summed rate
  std::vector<Times> times;  // of each sample; a time that was not seen is 0
  std::vector<Discarded> discarded;
  std::vector<std::vector<Trace>> traces;  // of each sample of concurrent flows: what each flow did
  Summary time_ns;
  std::uint64_t batch = 0;
  bool slope = false;  // samples are (T(2b) - T(b)) / b
  bool gated = false;
  bool verified = false;               // every word that should be there was
  bool verified_every_sample = false;  // every word; else some of each, and all of the first and the last
  std::string timed_by;                // "device-events", "host-clock"
  double timer_resolution_ns = 0;
  double submit_ns = 0;           // median time of the host for enqueueing one operation; 0: not seen
  double host_ns = 0;             // median time of the host for one operation, from the first call to the end
  double clock_alignment_ns = 0;  // uncertainty of the common timeline, concurrent flows only
  double window_ns = 0;           // median common window
  double end_to_end_ns = 0;       // median time from first start to last end
  std::string engine, engine_evidence;
  std::vector<FlowResult> flows;
  std::vector<Warning> warnings;
  std::uint64_t distinct_source_bytes = 0, distinct_destination_bytes = 0;
};

// Measures one case on all ranks of the team at once, each with as many flows. An operation lasts until the
// slowest rank has done it: samples, batch and what is concluded from them are the same on every rank.
Measurement measure(Session& session, const std::vector<Flow>& flows, const MeasureOptions& options,
                    Team& team);

}  // namespace byteways
