// Measures one case: warm-up, batches behind the gate, the common window of concurrent flows, the stopping
// rule, verification. Everything a record says about time comes from here.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "interfaces/mover.hpp"
#include "timing/rank_skew.hpp"
#include "timing/statistics.hpp"
#include "timing/team.hpp"
#include "timing/three_times.hpp"

namespace byteways {

inline constexpr int kMethodVersion = 12;  // raise when a change of the method may change results

struct MeasureOptions {
  double precision = 0.01;   // required half-width of the interval, relative to the median
  std::uint64_t rounds = 1;  // rounds of the case: the required samples count over all of them
  double budget_s = 1.0;     // limit of the sampling time (at least 3 samples are taken)
  std::uint64_t max_samples = 400;
  bool interference = false;  // only the first flow is measured, the others are background load
  bool gate = true;
  double gate_timeout_s = 0.25;  // watchdog
  std::uint64_t batch = 0;       // operations; 0: grow to 500 timer steps; concurrent flows run at least 4
  bool cap_depth = true;         // false only in tests of the watchdog
  std::uint64_t key = 1;         // of the data patterns
  std::vector<int> cores;        // logical CPUs of the calling thread; empty: those next to the executor
  double clock_offset_ns = 0;    // what this rank's clock shows more than that of the team's first rank
};

struct Warning {
  std::string id;
  double observed = 0, required = 0;
  std::string unit;
};

struct FlowResult {
  double bytes_per_s = 0;  // in the common window: its share of the median sum of the measured flows
  double end_to_end_bytes_per_s =
      0;                     // median over samples, from the opening of the gate to the last flow's end
  double start_skew_ns = 0;  // median delay of this flow's start after the first flow's
  Verification verification;
  LaunchShape shape;
  std::map<std::string, double> parts;  // share of the bytes by path, if they take several
  // Location of managed pages: before and after one untimed operation, and after the timed batches of
  // operations that must migrate them.
  std::vector<SideResidency> before, after, timed;
  std::uint64_t bytes_per_touch = 0;
};

// A sample whose times contradicted each other, and which was repeated.
struct Discarded {
  std::string reason;  // "gate-opened", "clocks-disagree", "no-slope", "low-slope"
  double time_ns = 0;
};

struct Measurement {
  std::vector<double>
      samples_ns;  // per operation; concurrent flows: one operation of every flow at the summed rate
  std::vector<Times> times;  // per sample; 0 for a time that was not measured
  std::vector<Discarded> discarded;
  std::vector<std::vector<Trace>> traces;  // per sample of concurrent flows: the trace of each flow
  Summary time_ns;
  std::uint64_t batch = 0;
  bool slope = false;  // samples are (T(2b) - T(b)) / b
  bool gated = false;
  bool verified = false;               // every word was correct
  bool verified_every_sample = false;  // every word; else some words of each, and all of the last
  bool verified_first = true;          // all words of the warm-up, before the first sample
  std::string timed_by;                // "device-events", "host-clock"
  double timer_resolution_ns = 0;
  double submit_ns = 0;           // median time on the host to enqueue one operation; 0: not measured
  double host_ns = 0;             // median time on the host for one operation, from the first call to the end
  double first_ns = 0;            // host time of the first operation on the slowest rank; of a single flow
  double clock_alignment_ns = 0;  // uncertainty of the common timeline, concurrent flows only
  double window_ns = 0;           // median length of the common window
  double end_to_end_ns = 0;       // median time from first start to last end
  std::string engine, engine_evidence;
  EvidenceFields evidence;  // of the first flow
  std::vector<FlowResult> flows;
  std::vector<RankSkew> ranks;  // of a team of several
  std::vector<Warning> warnings;
  std::uint64_t distinct_source_bytes = 0, distinct_destination_bytes = 0;
};

// Throws Error for options out of their range.
void require_sensible(const MeasureOptions& options);
// Returns over which time the samples of a round are spread at least, so that slow changes show.
double least_spread_ns(const MeasureOptions& options);

// Measures one case on all ranks of the team, each with the same number of flows. An operation ends when the
// slowest rank has completed it, so samples, batch size and results are the same on every rank.
Measurement measure(Session& session, const std::vector<Flow>& flows, const MeasureOptions& options,
                    Team& team);

}  // namespace byteways
