// See doubts.hpp.
#include "timing/doubts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "timing/sampler.hpp"
#include "timing/window.hpp"

namespace byteways {
namespace {

// If waiting for the device takes longer than its work plus a wake-up, the events saw only part of the work.
constexpr double kWaitedOverDevice = 2, kWakeUpNs = 3e5;
constexpr double kUneven = 1.2;  // longest over shortest time between marks, for serialised flows

}  // namespace

double middle_of(const std::vector<Times>& times, double Times::* which) {
  std::vector<double> values;
  for (const Times& each : times)
    if (each.*which > 0) values.push_back(each.*which);
  return values.empty() ? 0 : median(std::move(values));
}

void doubt_series(Measurement& m, const Series& series, const MeasureOptions& options, double resolution_ns,
                  bool loops) {
  const double half_width = 0.5 * (m.time_ns.ci95.high - m.time_ns.ci95.low) / m.time_ns.median;
  const double wanted = options.precision * std::sqrt(static_cast<double>(options.rounds));
  if (half_width > wanted) m.warnings.push_back({"noisy", half_width, wanted, "1"});
  for (const SeriesWarning& warning : series_warnings(m.samples_ns, resolution_ns))
    m.warnings.push_back({warning.id, warning.observed, warning.required, "1"});
  if (m.samples_ns.size() * options.rounds < kLeastForInterval && !loops)
    m.warnings.push_back({"few-samples", static_cast<double>(m.samples_ns.size()),
                          static_cast<double>(least_samples(options.rounds)), "samples"});
  if (series.keeps_all())
    m.warnings.push_back({"many-discarded", series.discarded_share(), kMostDiscarded, "1"});
}

void doubt_window(Measurement& m, const Series& series, const MeasureOptions& options) {
  std::uint64_t whole = 0, uncut = 0;
  std::vector<double> uneven;
  for (const Sample& sample : series.counted()) {
    whole += !sample.window.together;
    uncut += !sample.window.marked || sample.window.walk_marks < 2;
    uneven.push_back(unevenness(sample.traces));
  }
  if (options.interference) {
    if (uncut != 0) m.warnings.push_back({"few-operations", 1, 2, "operations"});
    return;
  }
  if (m.batch < kEnoughOperations && median(uneven) > kUneven)
    m.warnings.push_back({"few-operations", static_cast<double>(m.batch),
                          static_cast<double>(kEnoughOperations), "operations"});
  if (whole != 0)
    m.warnings.push_back(
        {"short-window", static_cast<double>(whole) / static_cast<double>(m.samples_ns.size()), 0, "1"});
}

void doubt_clocks(Measurement& m) {
  const double device_ns = middle_of(m.times, &Times::device_ns);
  if (device_ns == 0) return;
  const double waited_ns = m.host_ns - (m.gated ? m.submit_ns : 0) - kWakeUpNs / static_cast<double>(m.batch);
  if (waited_ns > kWaitedOverDevice * std::max(device_ns, m.submit_ns))
    m.warnings.push_back({"clocks-disagree", waited_ns / device_ns, kWaitedOverDevice, "1"});
}

}  // namespace byteways
