// See window.hpp.
#include "timing/window.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <thread>

#include "timing/measure.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kMostMarks = 16;
constexpr std::uint64_t kLeastOperations = 4;
constexpr double kLeastWindowNs = 2e6;  // alignment of the clocks (about 3 µs) is then 0.3 % at the edges
constexpr double kAlignmentsPerWindow = 200;
constexpr int kAnchorTries = 3;
constexpr int kWarmUpRuns = 2;
constexpr double kDisturberStretch = 1.5;  // disturbers go on until the measured flow has ended
constexpr int kMostOutlastingRuns = 6;  // until disturbers have been given enough to outlast what they slow
constexpr double kMostReach = 64;
// What is disturbed is marked at this distance at least: a mark costs a device 1 to 2 µs, starting another
// part of a walk about 3 µs, which must not be taken for what the disturbers cost.
constexpr double kLeastPartNs = 1e6;
constexpr double kParts = 8;          // in a window; the first one only begins it
constexpr double kLeastWindow = 0.5;  // of the shortest lane, between marks; below, rates are of the whole

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
  // With one mark a lane cannot tell waiting from being slow.
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
    if (from + 1 < to) {  // else nothing of the walk lies within, and the window is as good as can be had
      opens = *from;
      closes = *(to - 1);
    }
  }
  sample.window_ns = std::max(0.0, closes - opens);
  sample.end_to_end_ns = last - first;
  sample.overlap = shortest_run > 0 ? std::max(0.0, closes - all_run) / shortest_run : 0;
  const bool together = paced && shortest > 0 && sample.window_ns >= kLeastWindow * shortest;
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

WindowSampler::WindowSampler(Session& session, std::vector<Lane>& lanes, Gate* gate,
                             const MeasureOptions& options)
    : session_(&session),
      lanes_(&lanes),
      gate_(gate),
      options_(&options),
      counts_(lanes.size(), kLeastOperations),
      reach_(lanes.size(), 1) {
  gated_ = gate != nullptr;
}

std::uint64_t WindowSampler::most_operations(const Lane& lane) const {
  if (!options_->cap_depth) return UINT64_MAX / 4;
  if (lane.mover->changes_residency()) return lane.mover->rotation();
  const std::uint64_t each = lane.queue_entries(2) - lane.queue_entries(1);
  if (each == 0) return UINT64_MAX / 4;
  std::uint64_t sharing = 0;  // lanes of one stream share its depth
  for (const Lane& other : *lanes_) sharing += other.stream == lane.stream;
  const std::uint64_t depth = lane.runtime().queue_depth(lane.agent().device) / sharing;
  constexpr std::uint64_t kTaken = kMostMarks + 3;  // marks, the gate, the begin event and one to spare
  return depth > kTaken ? std::max(kLeastOperations, (depth - kTaken) / each) : kLeastOperations;
}

double WindowSampler::window_wanted() const {
  double wanted = std::max(kLeastWindowNs, kAlignmentsPerWindow * alignment_ns_);
  for (const Lane& lane : *lanes_)
    if (!lane.mover->walks())
      wanted = std::max(wanted, static_cast<double>(kLeastOperations) * lane.operation_ns);
  if (options_->interference) wanted = std::max(wanted, kParts * kLeastPartNs);
  return wanted * stretch_;
}

double WindowSampler::stretch_of(std::size_t index) const {
  return options_->interference && index > 0 ? kDisturberStretch * reach_[index] : 1;
}

std::uint64_t WindowSampler::marks_of(std::size_t index) const {
  const std::uint64_t marks = std::min(counts_[index], kMostMarks);
  if (!options_->interference || index > 0) return marks;
  const double parts = static_cast<double>(counts_[index]) * (*lanes_)[index].operation_ns / kLeastPartNs;
  return std::min(marks, std::max<std::uint64_t>(2, static_cast<std::uint64_t>(std::llround(parts))));
}

void WindowSampler::anchor() {
  alignment_ns_ = 0;
  for (Lane& lane : *lanes_) {
    Anchor& anchor = anchors_[{&lane.runtime(), lane.agent().device}];
    if (anchor.event == nullptr) anchor.event = lane.runtime().create_event(lane.agent().device);
    double best = -1;
    for (int attempt = 0; attempt < kAnchorTries; ++attempt) {
      auto event = lane.runtime().create_event(lane.agent().device);
      const Nanoseconds before = session_->clock().now();
      lane.runtime().record(*event, session_->service_stream(lane.agent()));
      while (!lane.runtime().finished(*event)) {
      }
      const Nanoseconds after = session_->clock().now();
      const auto doubt = 0.5 * static_cast<double>(after - before);
      if (best >= 0 && doubt >= best) continue;
      best = doubt;
      anchor.event = std::move(event);
      anchor.host_ns = 0.5 * (static_cast<double>(before) + static_cast<double>(after));
    }
    alignment_ns_ = std::max(alignment_ns_, best);
  }
}

void WindowSampler::enqueue_lane(std::size_t index, std::vector<double>& host_marks) {
  Lane& lane = (*lanes_)[index];
  const std::uint64_t count = counts_[index], marks = marks_of(index);
  while (lane.marks.size() < marks) lane.marks.push_back(lane.runtime().create_event(lane.agent().device));
  if (lane.blocking)
    host_marks.push_back(static_cast<double>(session_->clock().now()));
  else
    lane.runtime().record(*lane.begin, *lane.stream);
  for (std::uint64_t mark = 0, done = 0; mark < marks; ++mark) {
    const std::uint64_t upto = count * (mark + 1) / marks;
    lane.enqueue(upto - done);
    done = upto;
    if (lane.blocking) {
      lane.runtime().synchronize(*lane.stream);
      host_marks.push_back(static_cast<double>(session_->clock().now()));
    } else {
      lane.runtime().record(*lane.marks[mark], *lane.stream);
    }
  }
}

void WindowSampler::run_gated() {
  std::vector<double> unused;
  gate_->shut(static_cast<Nanoseconds>(options_->gate_timeout_s * 1e9));
  for (std::size_t k = 0; k < lanes_->size(); ++k) {
    gate_->hold((*lanes_)[k].agent(), *(*lanes_)[k].stream);
    enqueue_lane(k, unused);
  }
  if (!gate_->open()) gated_ = false;
}

std::vector<std::vector<double>> WindowSampler::run_threads() {
  if (!session_->clock().runs_by_itself())
    throw Unsupported("concurrent flows", "virtual time",
                      "calls that block cannot run beside each other on a simulated machine: its time passes "
                      "for one caller at a time");
  std::vector<std::vector<double>> host_marks(lanes_->size());
  std::vector<std::exception_ptr> failures(lanes_->size());
  std::atomic<std::size_t> waiting{lanes_->size()};
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < lanes_->size(); ++k) {
    threads.emplace_back([&, k] {
      const Agent& agent = (*lanes_)[k].agent();
      try {
        agent.runtime->bind_thread_near(agent.device);
      } catch (...) {
        failures[k] = std::current_exception();
      }
      waiting.fetch_sub(1);
      while (waiting.load() != 0) std::this_thread::yield();
      if (failures[k]) return;
      try {
        enqueue_lane(k, host_marks[k]);
      } catch (...) {
        failures[k] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return host_marks;
}

std::vector<Trace> WindowSampler::run() {
  for (Lane& lane : *lanes_) lane.mover->restore();
  anchor();
  bool blocking = false;
  for (const Lane& lane : *lanes_) blocking |= lane.blocking;
  std::vector<std::vector<double>> host_marks(lanes_->size());
  if (blocking || !gated_ || gate_ == nullptr) {
    gated_ = false;
    host_marks = run_threads();
  } else {
    run_gated();
  }
  std::vector<Trace> traces(lanes_->size());
  for (std::size_t k = 0; k < lanes_->size(); ++k) {
    Lane& lane = (*lanes_)[k];
    Runtime& runtime = lane.runtime();
    runtime.synchronize(*lane.stream);
    const Anchor& anchor = anchors_.at({&runtime, lane.agent().device});
    const auto when = [&](Event& event) { return anchor.host_ns + runtime.elapsed_ns(*anchor.event, event); };
    const std::uint64_t marks = marks_of(k);
    traces[k].released = lane.blocking ? host_marks[k][0] : when(*lane.begin);
    for (std::uint64_t mark = 0; mark < marks; ++mark) {
      traces[k].marks.push_back(lane.blocking ? host_marks[k][mark + 1] : when(*lane.marks[mark]));
      traces[k].operations.push_back(counts_[k] * (mark + 1) / marks);
    }
  }
  return traces;
}

void WindowSampler::balance(double window_ns) {
  for (std::size_t k = 0; k < lanes_->size(); ++k) {
    const double wanted = options_->batch != 0
                              ? static_cast<double>(options_->batch)
                              : std::round(stretch_of(k) * window_ns / (*lanes_)[k].operation_ns);
    const std::uint64_t most = most_operations((*lanes_)[k]);
    counts_[k] =
        std::min(most, std::max(kLeastOperations, static_cast<std::uint64_t>(std::max(wanted, 1.0))));
  }
}

// What disturbs has to go on until the measured flow has ended, however much that was slowed down.
void WindowSampler::outlast(const std::vector<Trace>& traces) {
  const double lasted = traces[0].end() - traces[0].released;
  for (std::size_t k = 1; k < traces.size(); ++k) {
    if (traces[k].end() >= traces[0].end()) continue;
    const double missing = lasted / (traces[k].end() - traces[k].released);
    reach_[k] = std::min(kMostReach, reach_[k] * std::clamp(kDisturberStretch * missing, 1.0, 4.0));
  }
}

void WindowSampler::warm_up() {
  for (Lane& lane : *lanes_) learn_lane(*session_, lane, gate_, *options_);
  anchor();
  // Balanced by what each lane does alone, not by what it gets in company: one that is starved would be given
  // less to do, and the unfairness would hide itself.
  bool outlasted = true;
  for (int run_number = 0; run_number < kWarmUpRuns || (!outlasted && run_number < kMostOutlastingRuns);
       ++run_number) {
    double window = window_wanted();
    for (std::size_t k = 0; k < lanes_->size(); ++k)  // a lane whose queue is full cannot last longer
      window = std::min(window, static_cast<double>(most_operations((*lanes_)[k])) *
                                    (*lanes_)[k].operation_ns / stretch_of(k));
    balance(window);
    const std::vector<double> before = reach_;
    if (const std::vector<Trace> traces = run(); options_->interference) outlast(traces);
    outlasted = before == reach_;
  }
  batch_ = *std::min_element(counts_.begin(), counts_.end());
}

double WindowSampler::sample() {
  std::vector<std::uint64_t> units;
  for (const Lane& lane : *lanes_)
    units.push_back(std::max<std::uint64_t>(1, lane.mover->bytes_per_operation()));
  const int cut_at = options_->interference && lanes_->front().mover->walks() ? 0 : -1;
  samples_.push_back(evaluate(run(), units, options_->interference, cut_at));
  const WindowSample& sample = samples_.back();
  double moved = 0, rate = 0;
  const std::size_t measured = options_->interference ? 1 : lanes_->size();
  for (std::size_t k = 0; k < measured; ++k) {
    moved += static_cast<double>(units[k]);
    rate += sample.rates[k];
  }
  return moved / rate * 1e9;
}

std::uint64_t WindowSampler::operations(const Lane& lane) const {
  return counts_[static_cast<std::size_t>(&lane - lanes_->data())];
}

bool WindowSampler::double_batch() {
  if (options_->batch != 0) return false;
  std::vector<std::uint64_t> doubled;
  for (std::size_t k = 0; k < counts_.size(); ++k) {
    if (2 * counts_[k] > most_operations((*lanes_)[k])) return false;
    doubled.push_back(2 * counts_[k]);
  }
  counts_ = doubled;
  stretch_ *= 2;
  batch_ *= 2;
  return true;
}

}  // namespace byteways
