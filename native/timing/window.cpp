// See window.hpp.
#include "timing/window.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <thread>
#include <utility>

#include "timing/known_flow.hpp"
#include "timing/measure.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kMostMarks = 16;
constexpr std::uint64_t kLeastOperations = 4;
constexpr double kSampleShare = 0.04;   // fraction of the budget that one sample may take
constexpr double kLeastWindowNs = 2e6;  // the alignment of the clocks (about 3 µs) then adds 0.3 %
constexpr double kAlignmentsPerWindow = 200;
constexpr int kAnchorTries = 3;
constexpr int kWarmUpRuns = 2;  // the first one is slower
constexpr int kMostWarmUpRuns = 12, kSteadyRuns = 2;
constexpr double kSteadyWithin = 0.02;
constexpr double kWarmUpShare = 0.15;      // fraction of the budget, beyond the first runs
constexpr double kDisturberStretch = 1.5;  // background flows must outlast the measured flow
constexpr int kMostOutlastingRuns = 6;  // maximum runs to find how much work background flows need for that
constexpr double kMostReach = 64;
// Least distance of marks in the measured flow: a mark costs a device 1 to 2 µs and starting another part of
// a chase about 3 µs, which must not be mistaken for interference.
constexpr double kLeastPartNs = 1e6;
constexpr double kParts = 8;  // per window; the first only starts it

}  // namespace

WindowSampler::WindowSampler(Session& session, std::vector<FlowRunner>& runners, Gate* gate,
                             const MeasureOptions& options, Team& team, KnownFlow* known)
    : Sampler(team),
      session_(&session),
      runners_(&runners),
      gate_(gate),
      options_(&options),
      known_(known),
      counts_(runners.size(), kLeastOperations),
      reach_(runners.size(), 1) {
  gated_ = gate != nullptr;
}

std::uint64_t WindowSampler::most_operations(const FlowRunner& runner) const {
  if (!options_->cap_depth) return UINT64_MAX / 4;
  if (runner.mover->traits().changes_residency) return runner.mover->traits().rotation;
  const std::uint64_t each = runner.queue_entries(2) - runner.queue_entries(1);
  if (each == 0) return UINT64_MAX / 4;
  std::uint64_t sharing = 0;  // number of flows that share a stream's queue depth
  for (const FlowRunner& other : *runners_) sharing += other.stream == runner.stream;
  const std::uint64_t depth = runner.runtime().queue_depth(runner.device().ordinal) / sharing;
  constexpr std::uint64_t kTaken = kMostMarks + 3;  // marks, the gate, the begin event and one spare entry
  return depth > kTaken ? std::max(kLeastOperations, (depth - kTaken) / each) : kLeastOperations;
}

std::uint64_t WindowSampler::least_operations(double operation_ns) const {
  const double most_ns = kSampleShare * options_->budget_s * 1e9 / static_cast<double>(runners_->size());
  return std::clamp(static_cast<std::uint64_t>(most_ns / std::max(1.0, operation_ns)), kLeastOperations,
                    kEnoughOperations);
}

double WindowSampler::window_wanted() const {
  double wanted = std::max(kLeastWindowNs, kAlignmentsPerWindow * alignment_ns_);
  for (const FlowRunner& runner : *runners_)
    if (!runner.mover->traits().walks)
      wanted =
          std::max(wanted, static_cast<double>(least_operations(runner.operation_ns)) * runner.operation_ns);
  if (options_->interference) wanted = std::max(wanted, kParts * kLeastPartNs);
  return wanted * stretch_;
}

double WindowSampler::stretch_of(std::size_t index) const {
  return options_->interference && index > 0 ? kDisturberStretch * reach_[index] : 1;
}

std::uint64_t WindowSampler::marks_of(std::size_t index) const {
  const std::uint64_t marks = std::min(counts_[index], kMostMarks);
  if (!options_->interference || index > 0) return marks;
  const double parts = static_cast<double>(counts_[index]) * (*runners_)[index].operation_ns / kLeastPartNs;
  return std::min(marks, std::max<std::uint64_t>(2, static_cast<std::uint64_t>(std::llround(parts))));
}

void WindowSampler::anchor() {
  alignment_ns_ = 0;
  for (FlowRunner& runner : *runners_) {
    Anchor& anchor = anchors_[{&runner.runtime(), runner.device().ordinal}];
    if (anchor.event == nullptr) anchor.event = runner.runtime().create_event(runner.device().ordinal);
    double best = -1;
    for (int attempt = 0; attempt < kAnchorTries; ++attempt) {
      auto event = runner.runtime().create_event(runner.device().ordinal);
      const Nanoseconds before = session_->clock().now();
      runner.runtime().record(*event, session_->service_stream(runner.device()));
      while (!runner.runtime().finished(*event)) {
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

void WindowSampler::enqueue_flow(std::size_t index, std::vector<double>& host_marks) {
  FlowRunner& runner = (*runners_)[index];
  const std::uint64_t count = counts_[index], marks = marks_of(index);
  if (runner.blocks())
    host_marks.push_back(static_cast<double>(session_->clock().now()));
  else
    runner.runtime().record(*runner.begin, *runner.stream);
  for (std::uint64_t mark = 0, done = 0; mark < marks; ++mark) {
    const std::uint64_t upto = count * (mark + 1) / marks;
    runner.enqueue(upto - done);
    done = upto;
    if (runner.blocks()) {
      runner.runtime().synchronize(*runner.stream);
      host_marks.push_back(static_cast<double>(session_->clock().now()));
    } else {
      runner.runtime().record(*runner.marks[mark], *runner.stream);
    }
  }
}

// Before the gate is shut: a driver may wait for the queues to create an event.
void WindowSampler::make_marks() {
  for (std::size_t k = 0; k < runners_->size(); ++k) {
    FlowRunner& runner = (*runners_)[k];
    while (runner.marks.size() < marks_of(k))
      runner.marks.push_back(runner.runtime().create_event(runner.device().ordinal));
  }
}

double WindowSampler::run_gated(Run& done) {
  std::vector<double> unused;
  gate_->shut(static_cast<Nanoseconds>(options_->gate_timeout_s * 1e9));
  for (std::size_t k = 0; k < runners_->size(); ++k) {
    gate_->hold((*runners_)[k].device(), *(*runners_)[k].stream);
    enqueue_flow(k, unused);
  }
  const double waited_ns = wait_for_all(session_->clock());
  done.gate_opened = !gate_->open();
  return waited_ns;
}

std::vector<std::vector<double>> WindowSampler::run_threads() {
  if (!session_->clock().runs_by_itself())
    throw Unsupported("concurrent flows", "virtual time",
                      "calls that block cannot run beside each other on a simulated machine: its time passes "
                      "for one caller at a time");
  std::vector<std::vector<double>> host_marks(runners_->size());
  std::vector<std::exception_ptr> failures(runners_->size());
  std::atomic<std::size_t> waiting{runners_->size()};
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < runners_->size(); ++k) {
    threads.emplace_back([&, k] {
      const Device& device = (*runners_)[k].device();
      try {
        device.runtime->bind_thread_near(device.ordinal);
      } catch (...) {
        failures[k] = std::current_exception();
      }
      waiting.fetch_sub(1);
      while (waiting.load() != 0) std::this_thread::yield();
      if (failures[k]) return;
      try {
        enqueue_flow(k, host_marks[k]);
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

bool WindowSampler::held_back() const {
  return gated_ && gate_ != nullptr &&
         std::none_of(runners_->begin(), runners_->end(), [](const FlowRunner& runner) {
           return runner.blocks() || runner.most_held(kMostMarks + kTakenEntries) < kLeastOperations;
         });
}

WindowSampler::Run WindowSampler::run() {
  for (FlowRunner& runner : *runners_) runner.mover->restore();
  anchor();
  make_marks();
  Run done;
  std::vector<std::vector<double>> host_marks(runners_->size());
  const bool gated = gated_ = held_back();
  if (!gated) wait_for_all(session_->clock());
  const Nanoseconds before = session_->clock().now();
  double waited_ns = 0;
  if (gated)
    waited_ns = run_gated(done);
  else
    host_marks = run_threads();
  done.times.submit_ns = static_cast<double>(session_->clock().now() - before) - waited_ns;
  for (std::size_t k = 0; k < runners_->size(); ++k) done.traces.push_back(trace_of(k, host_marks[k]));
  done.times.host_ns = static_cast<double>(session_->clock().now() - before) - waited_ns;
  if (gated) done.gate_opened = note_opening(done.gate_opened);
  agree_on(done);
  return done;
}

// The flow's progress in the run that ends now, in host time.
Trace WindowSampler::trace_of(std::size_t index, const std::vector<double>& host_marks) {
  FlowRunner& runner = (*runners_)[index];
  Runtime& runtime = runner.runtime();
  runtime.synchronize(*runner.stream);
  const Anchor& anchor = anchors_.at({&runtime, runner.device().ordinal});
  const auto when = [&](Event& event) { return anchor.host_ns + runtime.elapsed_ns(*anchor.event, event); };
  const std::uint64_t marks = marks_of(index);
  Trace trace;
  trace.released = runner.blocks() ? host_marks[0] : when(*runner.begin);
  for (std::uint64_t mark = 0; mark < marks; ++mark) {
    trace.marks.push_back(runner.blocks() ? host_marks[mark + 1] : when(*runner.marks[mark]));
    trace.operations.push_back(counts_[index] * (mark + 1) / marks);
  }
  return trace;
}

// A flow begins with its first rank and progresses with its last. Ranks on one host share a clock.
void WindowSampler::agree_on(Run& done) {
  for (Trace& trace : done.traces) {
    trace.released = team_->agree_min("release of a flow", trace.released);
    trace.marks = team_->agree_max("marks of a flow", std::move(trace.marks));
  }
  const std::vector<double> times =
      team_->agree_max("times of a run", {done.times.submit_ns, done.times.host_ns});
  done.times = {0, times[0], times[1]};
}

void WindowSampler::balance(double window_ns) {
  for (std::size_t k = 0; k < runners_->size(); ++k) {
    const double wanted = options_->batch != 0
                              ? static_cast<double>(options_->batch)
                              : std::round(stretch_of(k) * window_ns / (*runners_)[k].operation_ns);
    const std::uint64_t most = most_operations((*runners_)[k]);
    const std::uint64_t count =
        std::min(most, std::max(kLeastOperations, static_cast<std::uint64_t>(std::max(wanted, 1.0))));
    counts_[k] = team_->agree_min("operations of a flow", count);
  }
}

// Background flows must continue until the measured flow has ended, however much it was slowed.
void WindowSampler::outlast(const std::vector<Trace>& traces) {
  const double lasted = traces[0].end() - traces[0].released;
  for (std::size_t k = 1; k < traces.size(); ++k) {
    if (traces[k].end() >= traces[0].end()) continue;
    const double missing = lasted / (traces[k].end() - traces[k].released);
    reach_[k] = std::min(kMostReach, reach_[k] * std::clamp(kDisturberStretch * missing, 1.0, 4.0));
  }
}

// Whether a run takes as long as the previous one.
bool WindowSampler::lasting(double before_ns, double now_ns) const {
  return std::abs(now_ns - before_ns) <= kSteadyWithin * before_ns;
}

void WindowSampler::warm_up() {
  for (FlowRunner& runner : *runners_) learn_flow(*session_, runner, gate_, *options_, *team_);
  anchor();
  const Nanoseconds until =
      session_->clock().now() + static_cast<Nanoseconds>(kWarmUpShare * options_->budget_s * 1e9);
  // Balance by each flow's rate alone, not by its rate under contention: a starved flow would get less work,
  // which would hide the unfairness.
  bool outlasted = true;
  double before_ns = 0;
  for (int number = 0, steady = 0;; ++number) {
    double window = window_wanted();
    for (std::size_t k = 0; k < runners_->size(); ++k)  // a flow with a full queue cannot last longer
      window = std::min(window, static_cast<double>(most_operations((*runners_)[k])) *
                                    (*runners_)[k].operation_ns / stretch_of(k));
    balance(window);
    const std::vector<double> before = reach_;
    const Run done = run();
    if (options_->interference) outlast(done.traces);
    outlasted = before == reach_;
    double first = done.traces[0].released, last = done.traces[0].end();
    for (const Trace& trace : done.traces) {
      first = std::min(first, trace.released);
      last = std::max(last, trace.end());
    }
    steady = lasting(before_ns, last - first) ? steady + 1 : 0;
    before_ns = last - first;
    // A first run as long as the steady ones of an earlier round shows that the paths are awake.
    if (outlasted && known_ != nullptr && lasting(known_->steady_ns, before_ns)) break;
    if (number + 1 < kWarmUpRuns || (!outlasted && number + 1 < kMostOutlastingRuns)) continue;
    if (steady >= kSteadyRuns || number + 1 >= kMostWarmUpRuns) break;
    if (team_->agree_any("end of the warm-up", session_->clock().now() >= until)) break;
  }
  if (known_ != nullptr) known_->steady_ns = before_ns;
  batch_ = *std::min_element(counts_.begin(), counts_.end());
}

Sample WindowSampler::sample() {
  std::vector<std::uint64_t> units;
  for (const FlowRunner& runner : *runners_)
    units.push_back(std::max<std::uint64_t>(1, runner.mover->traits().bytes_per_operation));
  const int cut_at = options_->interference && runners_->front().mover->traits().walks ? 0 : -1;
  Run done = run();
  Sample sample;
  sample.window = evaluate(done.traces, units, options_->interference, cut_at);
  sample.traces = std::move(done.traces);
  if (done.gate_opened) sample.discard = "gate-opened";
  double moved = 0, rate = 0;
  const std::size_t measured = options_->interference ? 1 : runners_->size();
  for (std::size_t k = 0; k < measured; ++k) {
    moved += static_cast<double>(units[k]);
    rate += sample.window.rates[k];
  }
  sample.time_ns = team_->agree_max("time of a sample", moved / rate * 1e9);
  const auto count = static_cast<double>(batch_);
  const bool by_device = std::none_of(runners_->begin(), runners_->end(), [](const FlowRunner& runner) {
    return runner.timed_by_host() || runner.device().is_host();
  });
  // Times of the first flow if the others are background load; with a thread per flow, the calls are the
  // work.
  sample.times = {by_device ? sample.time_ns : 0, gated_ ? done.times.submit_ns / count : 0,
                  done.times.host_ns / count};
  return sample;
}

std::uint64_t WindowSampler::operations(const FlowRunner& runner) const {
  return counts_[static_cast<std::size_t>(&runner - runners_->data())];
}

bool WindowSampler::double_batch() {
  bool room = options_->batch == 0;
  for (std::size_t k = 0; k < counts_.size(); ++k) room &= 2 * counts_[k] <= most_operations((*runners_)[k]);
  if (!team_->agree_all("room for twice the operations", room)) return false;
  for (std::uint64_t& count : counts_) count *= 2;
  stretch_ *= 2;
  batch_ *= 2;
  return true;
}

}  // namespace byteways
