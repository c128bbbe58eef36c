// See conclusion.hpp.
#include "timing/conclusion.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "timing/doubts.hpp"
#include "timing/statistics.hpp"

namespace byteways {
namespace {

// Medians of noisy single flows do not add up to the median of their sum: each flow gets its fraction of
// the reported sum.
void share_sum(Measurement& m, const Evidence& found) {
  const std::size_t measured = found.options.interference ? 1 : m.flows.size();
  double moved = 0, rates = 0;
  for (std::size_t k = 0; k < measured; ++k) {
    moved += static_cast<double>(found.runners[k].mover->traits().bytes_per_operation);
    rates += m.flows[k].bytes_per_s;
  }
  if (rates <= 0) return;
  const double scale = moved / m.time_ns.median * 1e9 / rates;
  for (std::size_t k = 0; k < measured; ++k) m.flows[k].bytes_per_s *= scale;
}

void conclude_window(Measurement& m, const Evidence& found) {
  const auto over_samples = [&](auto value) {
    std::vector<double> values;
    for (const Sample& sample : found.series.counted()) values.push_back(value(sample.window));
    return median(std::move(values));
  };
  m.clock_alignment_ns = found.team.agree_max("alignment of the clocks", found.window->alignment_ns());
  m.window_ns = over_samples([](const WindowSample& s) { return s.window_ns; });
  m.end_to_end_ns = over_samples([](const WindowSample& s) { return s.end_to_end_ns; });
  double together = 0, alone = 0;
  for (std::size_t k = 0; k < found.runners.size(); ++k) {
    FlowResult& flow = m.flows[k];
    flow.start_skew_ns = over_samples([k](const WindowSample& s) { return s.skews[k]; });
    if (found.runners[k].mover->traits().time_is_result()) continue;  // its rates count operations
    flow.bytes_per_s = over_samples([k](const WindowSample& s) { return s.rates[k]; });
    flow.end_to_end_bytes_per_s = over_samples([k](const WindowSample& s) { return s.whole_rates[k]; });
    together += flow.end_to_end_bytes_per_s;
    alone += over_samples([k](const WindowSample& s) { return s.own_rates[k]; });
  }
  share_sum(m, found);
  if (over_samples([](const WindowSample& s) { return s.overlap; }) < kSerialisedBelow)
    m.warnings.push_back({"serialised", together, alone, "bytes/s"});
  else
    doubt_window(m, found.series, found.options);
}

void add_warnings(Measurement& m, const Evidence& found) {
  doubt_series(m, found.series, found.options, found.resolution_ns, found.loops);
  if (found.window == nullptr) doubt_clocks(m);
  const FlowRunner& first = found.runners.front();
  // The host's wait is what is timed, which a gate would only delay; or no queue holds a whole operation,
  // whose calls then are a part of its time.
  const bool meant = first.completion == Completion::awaited || first.most_held(kTakenEntries) == 0 ||
                     first.mover->traits().works_in_call ||
                     (first.completion == Completion::synchronous && first.mover->traits().time_is_result());
  if (found.sampler.held_ns() > 0)
    m.warnings.push_back({"gate-slows", found.sampler.held_ns(), m.time_ns.median, "ns"});
  else if (found.options.gate && !m.gated && !meant)
    m.warnings.push_back({"ungated", 0, 1, "1"});
  if (found.sampler.timed_part() < 1)
    m.warnings.push_back({"short-batch", found.sampler.timed_part(), 1, "1"});
}

}  // namespace

void take_series(Measurement& m, Series& series, double resolution_ns) {
  series.settle();
  m.samples_ns = series.times_ns();
  for (const Sample& sample : series.counted()) m.times.push_back(sample.times);
  for (const Sample& sample : series.discarded()) m.discarded.push_back({sample.discard, sample.time_ns});
  m.submit_ns = middle_of(m.times, &Times::submit_ns);
  m.host_ns = middle_of(m.times, &Times::host_ns);
  m.time_ns = summarize(m.samples_ns, resolution_ns);
}

void conclude(Measurement& m, const Evidence& found) {
  take_series(m, found.series, found.resolution_ns);
  if (found.window != nullptr)
    for (const Sample& sample : found.series.counted()) m.traces.push_back(sample.traces);
  m.batch = found.sampler.batch();
  m.slope = found.sampler.slope();
  m.gated = found.sampler.gated();
  std::set<std::string> clocks;
  for (const FlowRunner& runner : found.runners) {
    clocks.insert(runner.timed_by_host() ? std::string("host-clock")
                                         : std::string(runner.runtime().timed_by()));
    m.timer_resolution_ns =
        std::max(m.timer_resolution_ns, runner.runtime().timer_resolution_ns(runner.device().ordinal));
    m.distinct_source_bytes += runner.mover->traits().distinct_source_bytes;
    m.distinct_destination_bytes += runner.mover->traits().distinct_destination_bytes;
  }
  const std::vector<double> slowest = found.team.agree_max(
      "resolution of the timer", {m.timer_resolution_ns, found.runners.front().first_ns});
  m.timer_resolution_ns = slowest[0];
  if (found.runners.size() == 1) m.first_ns = slowest[1];
  for (const std::string& clock : clocks) m.timed_by += (m.timed_by.empty() ? "" : " + ") + clock;
  m.verified = found.data.ok();
  m.flows.resize(found.runners.size());
  for (std::size_t k = 0; k < found.runners.size(); ++k) {
    m.flows[k].verification = found.data.found()[k];
    m.flows[k].shape = found.runners[k].mover->traits().shape;
    m.flows[k].parts = found.runners[k].mover->traits().parts;
  }
  if (m.samples_ns.empty()) return;  // corrupt before the first sample
  if (found.window != nullptr)
    conclude_window(m, found);
  else if (const std::uint64_t bytes = found.runners.front().mover->traits().bytes_per_operation)
    m.flows[0].bytes_per_s = m.flows[0].end_to_end_bytes_per_s =
        static_cast<double>(bytes) / m.time_ns.median * 1e9;
  add_warnings(m, found);
}

}  // namespace byteways
