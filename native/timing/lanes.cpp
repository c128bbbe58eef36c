// See lanes.hpp.
#include "timing/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kernels/arguments.hpp"
#include "timing/measure.hpp"
#include "timing/statistics.hpp"

namespace byteways {
namespace {

constexpr double kLeastDeviceBatchNs = 2e6;  // starting a batch costs a device about 4 µs: 0.2 % of it
// The first operations of a team of threads are slower than those that follow: STREAM of 8 threads over
// arrays of 4 MiB, one loop a batch, took 38 and 75 µs (copy, triad) and among 16 loops 20 and 27
// (2026-11-22).
constexpr double kLeastHostBatchNs = 2e6;
constexpr double kTicksPerSample = 500;  // resolution then adds at most 0.2 % to a sample
constexpr std::uint64_t kSlopeBelowBytes = 64
                                           << 10;  // below it the fixed cost of a batch shows in the figure
constexpr double kChaseSlopeBelowNs = 2e6;         // a launch of about 3 µs is 0.15 % of longer walks
constexpr double kSteadyWithin = 0.02;
constexpr int kSteadyRuns = 3, kMostWarmUpRuns = 24;
constexpr double kWarmUpShare = 0.2;  // of the time budget
constexpr double kLearnTimeoutNs = 1e8;
constexpr std::int64_t kMostPauseNs = 1'000'000'000;  // longer ones would be nearly all of any budget
constexpr double kUnseenGrowth = 16;  // never grow a batch further than this on one measurement

// Of a walk one step is mostly launch: its time is the slope between two walks.
void learn_pace(Lane& lane) {
  const std::uint64_t steps = lane.mover->least_batch();
  double before = 0, after = 0;
  for (double* time : {&before, &after}) {
    lane.runtime().record(*lane.begin, *lane.stream);
    lane.enqueue(time == &before ? steps : 2 * steps);
    lane.runtime().record(*lane.end, *lane.stream);
    lane.runtime().synchronize(*lane.end);
    *time = lane.runtime().elapsed_ns(*lane.begin, *lane.end);
  }
  lane.operation_ns = std::max(after - before, 0.5 * before) / static_cast<double>(steps);
}

Lane make_lane(Session& session, const Flow& flow, std::shared_ptr<Stream> stream) {
  Runtime& runtime = *flow.executor->runtime;
  const int device = flow.executor->device;
  Lane lane;
  lane.mover = make_mover(session, flow);
  lane.stream =
      stream ? std::move(stream) : create_stream_for(session, *flow.executor, flow.number("core", -1));
  lane.begin = runtime.create_event(device);
  lane.end = runtime.create_event(device);
  lane.one_at_a_time = flow.word("pace") == "one-at-a-time";
  const std::string submit = flow.word("submit", "calls");
  for (const char* option : {"pace", "pause_ns"})
    if (submit != "calls" && flow.options.contains(option))
      throw Unsupported(flow.interface, option, "what is submitted as a " + submit + " has none",
                        flow.executor->name());
  const std::int64_t pause_ns = flow.number("pause_ns");
  if (pause_ns == 0) return lane;
  if (pause_ns < 0 || pause_ns > kMostPauseNs)
    throw Unsupported(
        flow.interface, "pause_ns",
        std::to_string(pause_ns) + " ns are no pause: it lasts from 0 to " + std::to_string(kMostPauseNs),
        flow.executor->name());
  lane.pause_ns = static_cast<std::uint64_t>(pause_ns);
  if (lane.mover->synchronous())
    throw Unsupported(flow.interface, "pause_ns", "its operations are in no queue that could idle",
                      flow.executor->name());
  const Availability offered = runtime.offers_kernel(device, "idle");
  if (!offered.available)
    throw Unsupported(flow.interface, "pause_ns", offered.reason, flow.executor->name());
  return lane;
}

void require_company(const Lane& lane, const Flow& flow) {
  const std::string why =
      lane.one_at_a_time ? "its operations are waited for one by one" : lane.mover->alone();
  if (!why.empty())
    throw Unsupported(flow.interface, "pattern", why + ": it runs alone", flow.executor->name());
}

}  // namespace

Lane::~Lane() {
  if (mover == nullptr || stream == nullptr) return;
  try {
    runtime().synchronize(*stream);
  } catch (const std::exception&) {  // destructors never throw; the next call on this device reports it
  }
}

void Lane::enqueue(std::uint64_t count) {
  const std::uint64_t first = next_operation;
  next_operation += count;
  if (pause_ns == 0) {
    mover->enqueue(*stream, first, count);
    return;
  }
  const IdleArguments arguments{pause_ns};
  for (std::uint64_t k = 0; k < count; ++k) {
    mover->enqueue(*stream, first + k, 1);
    runtime().launch(agent().device, "idle", {1, 1, 0}, &arguments, sizeof arguments, *stream);
  }
}

std::uint64_t Lane::queue_entries(std::uint64_t count) const {
  return pause_ns == 0 ? mover->queue_entries(count) : count * (mover->queue_entries(1) + 1);
}

std::vector<Lane> make_lanes(Session& session, const std::vector<Flow>& flows) {
  std::map<std::pair<Agent*, std::int64_t>, std::shared_ptr<Stream>> shared;
  std::vector<Lane> lanes;
  for (const Flow& flow : flows) {
    const std::int64_t number = flow.number("stream", -1);
    lanes.push_back(make_lane(session, flow, number < 0 ? nullptr : shared[{flow.executor, number}]));
    if (number >= 0) shared[{flow.executor, number}] = lanes.back().stream;
    if (flows.size() > 1) require_company(lanes.back(), flow);
  }
  return lanes;
}

void share_executors(std::vector<Flow>& flows) {
  for (Flow& flow : flows)
    flow.sharing = static_cast<unsigned>(std::count_if(
        flows.begin(), flows.end(), [&](const Flow& other) { return other.executor == flow.executor; }));
}

void learn_lane(Session& session, Lane& lane, Gate* gate, const MeasureOptions& options) {
  const auto run_one = [&] {
    lane.runtime().record(*lane.begin, *lane.stream);
    lane.enqueue(1);
    lane.runtime().record(*lane.end, *lane.stream);
  };
  lane.blocking = lane.mover->synchronous();
  lane.unobservable = "without the gate nothing is known about calls that block";
  lane.mover->restore();
  run_one();  // loads kernels, makes first connections; nothing is held yet
  lane.runtime().synchronize(*lane.stream);
  if (gate != nullptr && !lane.blocking) {
    const double timeout = std::min(kLearnTimeoutNs, options.gate_timeout_s * 1e9);
    // Before the gate is shut: moving gigabytes back would look like a call that blocks.
    lane.mover->restore();
    lane.mover->make_ready(lane.next_operation, 1);
    gate->shut(static_cast<Nanoseconds>(timeout));
    gate->hold(lane.agent(), *lane.stream);
    const bool launches_return = gate->is_shut();
    run_one();
    lane.blocking = !gate->open();
    lane.unobservable = launches_return ? "" : "kernel launches do not return before they end here";
    lane.runtime().synchronize(*lane.stream);
  }
  lane.mover->restore();
  const Nanoseconds before = session.clock().now();
  run_one();
  lane.runtime().synchronize(*lane.stream);
  const Nanoseconds after = session.clock().now();
  lane.operation_ns = lane.blocking ? static_cast<double>(after - before)
                                    : std::max(1.0, lane.runtime().elapsed_ns(*lane.begin, *lane.end));
  if (lane.mover->walks()) learn_pace(lane);
}

SingleSampler::SingleSampler(Session& session, Lane& lane, Gate* gate, const MeasureOptions& options)
    : session_(&session), lane_(&lane), gate_(gate), options_(&options) {
  gated_ = gate != nullptr;
}

double SingleSampler::time_batch(std::uint64_t count) {
  Runtime& runtime = lane_->runtime();
  lane_->mover->restore();
  lane_->mover->make_ready(lane_->next_operation, count);
  if (lane_->blocking) {  // the call does the work: the caller's clock is the one that sees it
    const Nanoseconds before = session_->clock().now();
    lane_->enqueue(count);
    if (!lane_->mover->synchronous()) runtime.synchronize(*lane_->stream);
    return static_cast<double>(session_->clock().now() - before);
  }
  if (lane_->one_at_a_time) return time_round_trips(count);
  const bool hold = gate_ != nullptr && gated_;
  if (hold) {
    gate_->shut(static_cast<Nanoseconds>(options_->gate_timeout_s * 1e9));
    gate_->hold(lane_->agent(), *lane_->stream);
  }
  runtime.record(*lane_->begin, *lane_->stream);
  const Nanoseconds before = session_->clock().now();
  lane_->enqueue(count);
  submit_ns_ = static_cast<double>(session_->clock().now() - before) / static_cast<double>(count);
  runtime.record(*lane_->end, *lane_->stream);
  if (hold && !gate_->open()) gated_ = false;
  runtime.synchronize(*lane_->end);
  return runtime.elapsed_ns(*lane_->begin, *lane_->end);
}

// What a program pays that needs each result before it goes on: by its own clock, from call to return.
double SingleSampler::time_round_trips(std::uint64_t count) {
  Runtime& runtime = lane_->runtime();
  const Nanoseconds before = session_->clock().now();
  for (std::uint64_t k = 0; k < count; ++k) {
    lane_->enqueue(1);
    runtime.synchronize(*lane_->stream);
  }
  return static_cast<double>(session_->clock().now() - before);
}

std::uint64_t SingleSampler::most_operations() const {
  if (!options_->cap_depth) return UINT64_MAX / 4;
  if (lane_->mover->changes_residency())
    return std::max<std::uint64_t>(1, lane_->mover->rotation() / (slope_ ? 2 : 1));
  const std::uint64_t entries = lane_->queue_entries(2) - lane_->queue_entries(1);
  if (entries == 0 || lane_->one_at_a_time) return UINT64_MAX / 4;
  constexpr std::uint64_t kTaken = 3;  // the gate and two events take places too
  const std::uint64_t depth =
      std::max<std::uint64_t>(kTaken + 1, lane_->runtime().queue_depth(lane_->agent().device));
  return std::max<std::uint64_t>(1, (depth - kTaken) / (slope_ ? 2 : 1) / entries);
}

void SingleSampler::choose_batch() {
  const bool chase = lane_->mover->bytes_per_operation() == 0;
  // One operation asked for is one with its fixed cost, as programs that time single operations see it.
  const bool single = options_->batch == 1;
  slope_ = chase || (lane_->mover->bytes_per_operation() < kSlopeBelowBytes && !single);
  if (lane_->mover->changes_residency() && lane_->mover->rotation() < 2) slope_ = false;
  // A step that moves nothing and is done once has no fixed cost around it that a slope could take away.
  if (chase && lane_->mover->changes_residency()) slope_ = false;
  const std::uint64_t most = most_operations();
  if (options_->batch != 0) {
    batch_ = std::min(options_->batch, most);
    return;
  }
  double wanted = kTicksPerSample * lane_->runtime().timer_resolution_ns(lane_->agent().device);
  // Migration by faults varies from page to page and has to be averaged over, slope or not.
  const bool steady_cost = slope_ && !lane_->mover->changes_residency();
  if (lane_->agent().is_host())
    wanted = std::max(wanted, steady_cost ? 0 : kLeastHostBatchNs);
  else if (!steady_cost && !lane_->by_host_clock())
    wanted = std::max(wanted, kLeastDeviceBatchNs);
  batch_ = lane_->mover->least_batch();
  // What the resolution is held against: with a slope only the difference of the two batches carries the
  // figure.
  const auto time_of_sample = [&] {
    return slope_ ? time_batch(2 * batch_) - time_batch(batch_) : time_batch(batch_);
  };
  double time = time_of_sample();
  while (time < wanted && batch_ < most) {
    const double growth = std::clamp(1.2 * wanted / std::max(time, 1.0), 2.0, kUnseenGrowth);
    batch_ = std::min(most, static_cast<std::uint64_t>(std::ceil(static_cast<double>(batch_) * growth)));
    time = time_of_sample();
  }
  if (chase && time > kChaseSlopeBelowNs) slope_ = false;
  lane_->operation_ns = time / static_cast<double>(batch_);
}

void SingleSampler::warm_up() {
  learn_lane(*session_, *lane_, gate_, *options_);
  if (lane_->blocking || lane_->one_at_a_time) gated_ = false;
  choose_batch();
  const Nanoseconds until =
      session_->clock().now() + static_cast<Nanoseconds>(kWarmUpShare * options_->budget_s * 1e9);
  double before = time_batch(batch_);
  for (int run = 0, steady = 0;
       run < kMostWarmUpRuns && steady < kSteadyRuns && session_->clock().now() < until; ++run) {
    const double now = time_batch(batch_);
    steady = std::abs(now - before) <= kSteadyWithin * before ? steady + 1 : 0;
    before = now;
  }
}

double SingleSampler::sample() {
  const double once = time_batch(batch_);
  if (!slope_) {
    note_submission();
    return once / static_cast<double>(batch_);
  }
  const double twice = time_batch(2 * batch_);
  note_submission();
  if (twice <= once)
    return twice / static_cast<double>(2 * batch_);  // disturbed: an upper bound instead of nonsense
  return (twice - once) / static_cast<double>(batch_);
}

// Of an interface that enqueues its operations one by one: a chase of any length is one launch.
void SingleSampler::note_submission() {
  const Mover& mover = *lane_->mover;
  if (!lane_->by_host_clock() && mover.queue_entries(2) > mover.queue_entries(1))
    submissions_ns_.push_back(submit_ns_);
}

double SingleSampler::submit_ns() const { return submissions_ns_.empty() ? 0 : median(submissions_ns_); }

std::uint64_t SingleSampler::operations(const Lane&) const { return slope_ ? 3 * batch_ : batch_; }

bool SingleSampler::double_batch() {
  if (options_->batch != 0 || 2 * batch_ > most_operations()) return false;
  batch_ *= 2;
  return true;
}

}  // namespace byteways
