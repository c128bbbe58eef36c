// See timed_calls.hpp.
#include "timing/timed_calls.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "timing/conclusion.hpp"
#include "timing/doubts.hpp"
#include "timing/sampler.hpp"

namespace byteways {
namespace {

using Steady = std::chrono::steady_clock;

class CallSampler {
 public:
  CallSampler(const TimedCalls& calls, const MeasureOptions& options) : calls_(&calls), options_(&options) {
    slope_ = calls.bytes < kSlopeBelowBytes && options.batch != 1;
  }

  void warm_up(Steady::time_point until) {
    const auto time_of_sample = [&] {
      const double once = slope_ ? calls_->time_ns(batch_) : 0;
      return calls_->time_ns(slope_ ? 2 * batch_ : batch_) - once;
    };
    const double least_ns = slope_ ? 0 : kLeastDeviceBatchNs;
    const BatchBounds bounds{std::max(kTicksPerSample * kStatedResolutionNs, least_ns), 1,
                             calls_->most_operations};
    double before = 0;
    if (options_->batch == 0)
      before = grow(batch_, bounds, time_of_sample);
    else
      batch_ = std::min<std::uint64_t>(options_->batch, calls_->most_operations);
    const auto run = [&] {
      const double now = calls_->time_ns(batch_);
      slopes_.note(now);
      return now;
    };
    run_until_steady(before, run, [&] { return Steady::now() < until; }, [] { return false; });
  }

  Sample sample() {
    calls_->spoil(batch_);
    Sample taken;
    const double once = calls_->time_ns(batch_);
    taken.time_ns = once / static_cast<double>(batch_);
    if (slope_) {
      const double twice = calls_->time_ns(2 * batch_);
      taken.discard = slopes_.judge(once, twice);
      taken.time_ns = slope_of(taken.discard, once, twice, batch_);
    }
    return taken;
  }

  std::uint64_t batch() const { return batch_; }
  bool slope() const { return slope_; }
  double resolution_ns() const { return kStatedResolutionNs / static_cast<double>(batch_); }

 private:
  const TimedCalls* calls_;
  const MeasureOptions* options_;
  std::uint64_t batch_ = 1;
  bool slope_ = false;
  Slopes slopes_;
};

void sample_all(CallSampler& sampler, Series& series, const MeasureOptions& options) {
  StoppingRule rule(options.precision, options.rounds, sampler.resolution_ns());
  const auto begin = Steady::now();
  const double least_s = least_spread_ns(options) / 1e9;
  while (series.taken() < options.max_samples) {
    series.add(sampler.sample());
    const double spent_s = std::chrono::duration<double>(Steady::now() - begin).count();
    const double spent = options.budget_s > 0 ? spent_s / options.budget_s : 1;
    const bool enough = rule.enough(series.times_ns(), spent) && spent_s >= least_s;
    if (enough && series.discarded_share() <= kMostDiscarded) break;
    if (series.taken() >= least_samples(options.rounds) && spent >= 1) break;
  }
}

}  // namespace

Measurement measure_calls(const TimedCalls& calls, const MeasureOptions& options) {
  require_sensible(options);
  const auto part = std::chrono::duration<double>(kBatchWarmUpShare * options.budget_s);
  CallSampler sampler(calls, options);
  sampler.warm_up(Steady::now() + std::chrono::duration_cast<Steady::duration>(part));
  Verification found = calls.check();
  calls.gated();  // the first batches teach how long enqueuing takes
  Series series;
  if (found.ok) {
    sample_all(sampler, series, options);
    found = calls.check();
  }
  Measurement m;
  m.timed_by = "device-events";
  m.timer_resolution_ns = kStatedResolutionNs;
  m.batch = sampler.batch();
  m.slope = sampler.slope();
  m.gated = calls.gated();
  m.verified = found.ok;
  m.flows.resize(1);
  m.flows[0].verification = found;
  if (series.taken() == 0) return m;  // corrupt before the first sample
  take_series(m, series, sampler.resolution_ns());
  doubt_series(m, series, options, sampler.resolution_ns(), false);
  if (options.gate && !m.gated) m.warnings.push_back({"ungated", 0, 1, "1"});
  return m;
}

}  // namespace byteways
