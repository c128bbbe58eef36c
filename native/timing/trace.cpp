// See trace.hpp.
#include "timing/trace.hpp"

#include <algorithm>

namespace byteways {
namespace {

constexpr double kLeastWindow =
    0.5;  // of the shortest flow, between marks; otherwise rates cover the whole run

}  // namespace

double Trace::progress(double t) const {
  if (t <= released) return 0;
  double from_time = released, from_count = 0;
  for (std::size_t k = 0; k < marks.size(); ++k) {
    const auto count = static_cast<double>(operations[k]);
    if (t <= marks[k]) {
      const double length = marks[k] - from_time;
      return length > 0 ? from_count + (count - from_count) * (t - from_time) / length : count;
    }
    from_time = marks[k];
    from_count = count;
  }
  return from_count;
}

double Trace::running_from() const {
  const auto begun = static_cast<double>(operations.front());
  const double later = static_cast<double>(operations.back()) - begun;
  if (later <= 0) return released;
  return std::max(released, marks[0] - (end() - marks[0]) / later * begun);
}

WindowSample evaluate(const std::vector<Trace>& traces, const std::vector<std::uint64_t>& units,
                      bool interference, int cut_at) {
  WindowSample sample;
  // With a single mark, waiting cannot be distinguished from being slow.
  const bool paced = sample.marked =
      std::all_of(traces.begin(), traces.end(), [](const Trace& trace) { return trace.marks.size() > 1; });
  const auto begin = [&](const Trace& trace) { return paced ? trace.marks[0] : trace.released; };
  double first = traces[0].released, last = traces[0].end();
  double opens = begin(traces[0]), closes = last, shortest = closes - opens;
  double all_run = first, shortest_run = last - first;
  for (const Trace& trace : traces) {
    first = std::min(first, trace.released);
    last = std::max(last, trace.end());
    opens = std::max(opens, begin(trace));
    closes = std::min(closes, trace.end());
    shortest = std::min(shortest, trace.end() - begin(trace));
    all_run = std::max(all_run, trace.running_from());
    shortest_run = std::min(shortest_run, trace.end() - trace.running_from());
  }
  if (cut_at >= 0) {
    const std::vector<double>& marks = traces[static_cast<std::size_t>(cut_at)].marks;
    const auto from = std::lower_bound(marks.begin(), marks.end(), opens);
    const auto to = std::upper_bound(marks.begin(), marks.end(), closes);
    sample.walk_marks = static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(0, to - from));
    if (sample.walk_marks >= 2) {
      opens = *from;
      closes = *(to - 1);
    }
  }
  sample.window_ns = std::max(0.0, closes - opens);
  sample.end_to_end_ns = last - first;
  sample.overlap = shortest_run > 0 ? std::max(0.0, closes - all_run) / shortest_run : 0;
  const bool together = sample.together =
      paced && shortest > 0 && sample.window_ns >= kLeastWindow * shortest;
  for (std::size_t k = 0; k < traces.size(); ++k) {
    const Trace& trace = traces[k];
    const auto size = static_cast<double>(units[k]);
    const auto total = static_cast<double>(trace.operations.back());
    const double own = (total - trace.progress(begin(trace))) / (trace.end() - begin(trace));
    const double in_window = trace.progress(closes) - trace.progress(opens);
    sample.whole_rates.push_back(size * total / sample.end_to_end_ns * 1e9);
    sample.own_rates.push_back(size * own * 1e9);
    sample.skews.push_back(trace.released - first);
    sample.rates.push_back(together       ? size * in_window / sample.window_ns * 1e9
                           : interference ? sample.own_rates.back()
                                          : sample.whole_rates.back());
  }
  return sample;
}

double unevenness(const std::vector<Trace>& traces) {
  double most = 1;
  for (const Trace& trace : traces) {
    double shortest = 0, longest = 0;
    for (std::size_t k = 1; k < trace.marks.size(); ++k) {
      const double each = (trace.marks[k] - trace.marks[k - 1]) /
                          static_cast<double>(trace.operations[k] - trace.operations[k - 1]);
      shortest = k == 1 ? each : std::min(shortest, each);
      longest = std::max(longest, each);
    }
    if (shortest > 0) most = std::max(most, longest / shortest);
  }
  return most;
}

}  // namespace byteways
