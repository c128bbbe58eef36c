// See three_times.hpp.
#include "timing/three_times.hpp"

#include <algorithm>
#include <utility>

namespace byteways {
namespace {

// Tolerance: the event resolution at both ends, plus this fraction; device clocks differ by less.
constexpr double kClocksWithin = 0.02;
// Fraction of the device time. Calls that only enqueue a copy of 1 MiB take 2 to 5 us of 20 to 40 us; one
// that staged it took 166 us of 28 us (H200, 2026-11-22).
constexpr double kSubmitShare = 0.5;
constexpr double kCalls = 4;  // … and submission must take more than this many empty calls
// Of the difference of the shortest batches. A round trip between two cores had a slope of 4 ns once, where
// the median was 147: its shorter batch was interrupted (2 busy virtual cores, 2026-11-23).
constexpr double kLeastSlope = 0.5;

void lower(double& least, double value) { least = least == 0 ? value : std::min(least, value); }

}  // namespace

Times Batch::of_one() const {
  const auto count = static_cast<double>(operations);
  return {times.device_ns / count, times.submit_ns / count, times.host_ns / count};
}

std::string contradiction(const Batch& batch) {
  if (batch.gate_opened) return "gate-opened";
  if (batch.times.device_ns == 0 || batch.times.host_ns == 0) return {};
  // Behind the gate nothing runs before the last call, so the device time lies within the host's wait.
  const double waited = batch.times.host_ns - (batch.gated ? batch.times.submit_ns : 0);
  const double most = (1 + kClocksWithin) * waited + 2 * batch.resolution_ns;
  return batch.times.device_ns > most ? "clocks-disagree" : std::string();
}

void Slopes::note(double shorter_ns) { lower(least_shorter_ns_, shorter_ns); }

std::string Slopes::judge(double shorter_ns, double longer_ns) {
  lower(least_shorter_ns_, shorter_ns);
  lower(least_longer_ns_, longer_ns);
  const double slope = longer_ns - shorter_ns;
  if (slope <= 0) return "no-slope";
  return slope < kLeastSlope * (least_longer_ns_ - least_shorter_ns_) ? "low-slope" : std::string();
}

bool moved_by_call(const Times& times, double call_ns) {
  return times.submit_ns > kSubmitShare * times.device_ns && times.submit_ns > kCalls * call_ns;
}

void Series::add(Sample sample) {
  ++taken_;
  if (sample.discard.empty()) {
    times_ns_.push_back(sample.time_ns);
    counted_.push_back(std::move(sample));
  } else {
    places_.push_back(counted_.size());
    discarded_.push_back(std::move(sample));
  }
}

double Series::discarded_share() const {
  return taken_ == 0 ? 0 : static_cast<double>(discarded_.size()) / static_cast<double>(taken_);
}

void Series::settle() {
  if (discarded_share() <= kMostDiscarded) return;
  keeps_all_ = true;
  std::vector<Sample> all;
  std::size_t next = 0;
  for (std::size_t k = 0; k <= counted_.size(); ++k) {
    for (; next < places_.size() && places_[next] == k; ++next) all.push_back(discarded_[next]);
    if (k < counted_.size()) all.push_back(std::move(counted_[k]));
  }
  counted_ = std::move(all);
  times_ns_.clear();
  for (const Sample& sample : counted_) times_ns_.push_back(sample.time_ns);
}

}  // namespace byteways
