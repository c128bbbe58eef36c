// See single_sampler.hpp.
#include "timing/single_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "timing/known_flow.hpp"
#include "timing/measure.hpp"

namespace byteways {
namespace {

// The first operations of a thread team are slower: STREAM with 8 threads over arrays of 4 MiB took 38 and 75
// µs (copy, triad) with one loop per batch, 20 and 27 µs with 16 loops (2026-11-22).
constexpr double kLeastHostBatchNs = 2e6;
constexpr double kChaseSlopeBelowNs = 2e6;        // a launch of about 3 µs is 0.15 % of longer chases
constexpr Nanoseconds kLeastWarmUp = 50'000'000;  // of a device's first case
// On a host another program may take the core during a batch, which then seems long enough and is too short:
// a second one has to last as long. From this time on none is done twice, which would cost too much.
constexpr double kUndisturbedAboveNs = 2e7;
// Maximum batches per sample if the queue is too short for one long batch: 64 last 10 ms with slow
// submission.
constexpr std::uint64_t kMostRepeats = 64;
// A copy that two devices hand over to each other took 13.3 us behind the gate but 6.3 to 7.1 us in a running
// queue, whatever held the queue (64 KiB pulled by the destination, two H200, 2026-11-22).
constexpr double kGateSlows = 1.1;
constexpr int kGateTrials = 3;
constexpr double kGateMattersBelowNs = 1e5;  // for longer operations such a hand-over costs less than a tenth
constexpr double kFasterThanKnown = 0.8;     // a batch this much faster than at first is chosen again

}  // namespace

SingleSampler::SingleSampler(Session& session, FlowRunner& runner, Gate* gate, const MeasureOptions& options,
                             Team& team)
    : Sampler(team), session_(&session), runner_(&runner), gate_(gate), options_(&options) {
  gated_ = gate != nullptr;
}

// The mean of several batches, if the queue is too short for one that is long enough.
Batch SingleSampler::time_batches(std::uint64_t count) {
  Batch sum = time_batch(count);
  for (std::uint64_t k = 1; k < repeats_; ++k) {
    const Batch next = time_batch(count);
    sum.times.device_ns += next.times.device_ns;
    sum.times.submit_ns += next.times.submit_ns;
    sum.times.host_ns += next.times.host_ns;
    sum.gate_opened |= next.gate_opened;
    sum.begin_ns = next.begin_ns;
  }
  const auto repeats = static_cast<double>(repeats_);
  sum.times = {sum.times.device_ns / repeats, sum.times.submit_ns / repeats, sum.times.host_ns / repeats};
  return sum;
}

Batch SingleSampler::time_batch(std::uint64_t count) {
  Runtime& runtime = runner_->runtime();
  runner_->mover->restore();
  runner_->mover->make_ready(runner_->next_operation, count);
  Batch batch{{}, count};
  batch.resolution_ns = runtime.timer_resolution_ns(runner_->device().ordinal);
  batch.gated = gate_ != nullptr && gated_ && !runner_->timed_by_host();
  if (!batch.gated) wait_for_all(session_->clock());
  if (runner_->blocks()) {
    time_calls(batch);
    return batch;
  }
  if (runner_->completion == Completion::awaited) {
    time_round_trips(batch);
    return batch;
  }
  if (batch.gated) {
    gate_->shut(static_cast<Nanoseconds>(options_->gate_timeout_s * 1e9));
    gate_->hold(runner_->device(), *runner_->stream);
  }
  runtime.record(*runner_->begin, *runner_->stream);
  const Nanoseconds before = session_->clock().now();
  batch.begin_ns = static_cast<double>(before);
  runner_->enqueue(count);
  const Nanoseconds submitted = session_->clock().now();
  runtime.record(*runner_->end, *runner_->stream);
  double waited_ns = 0;
  if (batch.gated) {
    waited_ns = wait_for_all(session_->clock());
    batch.gate_opened = !gate_->open();
  }
  runtime.synchronize(*runner_->end);
  batch.times.submit_ns = static_cast<double>(submitted - before);
  batch.times.host_ns = static_cast<double>(session_->clock().now() - before) - waited_ns;
  batch.times.device_ns = runtime.elapsed_ns(*runner_->begin, *runner_->end);
  if (batch.gated) batch.gate_opened = note_opening(batch.gate_opened);
  return batch;
}

// The calls do the work, so the caller's clock times it.
void SingleSampler::time_calls(Batch& batch) {
  const Nanoseconds before = session_->clock().now();
  batch.begin_ns = static_cast<double>(before);
  runner_->enqueue(batch.operations);
  batch.times.submit_ns = static_cast<double>(session_->clock().now() - before);
  if (runner_->completion != Completion::synchronous) runner_->runtime().synchronize(*runner_->stream);
  batch.times.host_ns = static_cast<double>(session_->clock().now() - before);
}

// The cost if each result is needed before the next operation: host time from call to return.
void SingleSampler::time_round_trips(Batch& batch) {
  const Nanoseconds before = session_->clock().now();
  batch.begin_ns = static_cast<double>(before);
  for (std::uint64_t k = 0; k < batch.operations; ++k) {
    runner_->enqueue(1);
    runner_->runtime().synchronize(*runner_->stream);
  }
  batch.times.host_ns = static_cast<double>(session_->clock().now() - before);
}

double SingleSampler::figure_ns(const Batch& batch) const {
  return runner_->timed_by_host() ? batch.times.host_ns : batch.times.device_ns;
}

double SingleSampler::figure_of(std::uint64_t count) {
  return team_->agree_max("time of a batch", figure_ns(time_batch(count)));
}

Batch SingleSampler::slowest(Batch batch, bool& doubtful) {
  if (team_->size() == 1) return batch;
  const Times mine = batch.times;
  const std::vector<std::vector<double>> all =
      team_->gather("times of a batch", {mine.device_ns, mine.submit_ns, mine.host_ns,
                                         batch.begin_ns - options_->clock_offset_ns, doubtful ? 1.0 : 0.0});
  std::vector<Presence> ranks;
  for (const std::vector<double>& rank : all) {
    batch.times.device_ns = std::max(batch.times.device_ns, rank[0]);
    batch.times.submit_ns = std::max(batch.times.submit_ns, rank[1]);
    batch.times.host_ns = std::max(batch.times.host_ns, rank[2]);
    ranks.push_back({rank[3], rank[3] + rank[2]});
    doubtful |= rank[4] != 0;
  }
  skew_.note(ranks);
  return batch;
}

std::uint64_t SingleSampler::most_operations() const {
  if (!options_->cap_depth) return UINT64_MAX / 4;
  if (runner_->mover->traits().changes_residency)
    return std::max<std::uint64_t>(1, runner_->mover->traits().rotation / (slope_ ? 2 : 1));
  if (runner_->completion == Completion::awaited) return UINT64_MAX / 4;
  return runner_->most_held(kTakenEntries) / (slope_ ? 2 : 1);
}

void SingleSampler::choose_batch() {
  const bool chase = runner_->mover->traits().time_is_result();
  // A batch of one operation includes its fixed cost, as in programs that time single operations.
  const bool single = options_->batch == 1;
  slope_ = chase || (runner_->mover->traits().bytes_per_operation < kSlopeBelowBytes && !single);
  if (!runner_->mover->traits().fixed_cost) slope_ = false;
  if (runner_->mover->traits().changes_residency && runner_->mover->traits().rotation < 2) slope_ = false;
  // A step that moves no data and runs once has no fixed cost that a slope could remove.
  if (chase && runner_->mover->traits().changes_residency) slope_ = false;
  slope_ = team_->agree_all("slope", slope_);
  const std::uint64_t room = team_->agree_min("room for a batch", most_operations());
  if (room == 0)
    gated_ = false;  // an operation of very many entries would wait for the gate, which waits for it
  const std::uint64_t most = std::max<std::uint64_t>(1, room);
  if (options_->batch == 0)
    grow_batch(most);
  else
    batch_ = std::min(options_->batch, most);
}

void SingleSampler::grow_batch(std::uint64_t most) {
  const Mover& mover = *runner_->mover;
  double tick = runner_->runtime().timer_resolution_ns(runner_->device().ordinal);
  if (!runner_->device().is_host()) tick = std::max(tick, kStatedResolutionNs);
  tick = team_->agree_max("tick of the timer", tick);
  double wanted = kTicksPerSample * tick;
  // Migration by faults varies from page to page and must be averaged, with or without slope.
  const bool steady_cost = slope_ && !mover.traits().changes_residency;
  if (runner_->works_on_host())
    wanted = std::max(wanted, steady_cost ? 0 : kLeastHostBatchNs);
  else if (!steady_cost && !runner_->timed_by_host())
    wanted = std::max(wanted, kLeastDeviceBatchNs);
  wanted = team_->agree_max("length of a batch", wanted);
  wanted_ns_ = slope_ ? 0 : wanted;
  const std::uint64_t least = team_->agree_max("least batch", mover.traits().least_batch);
  // The time that the resolution is compared with: with a slope, only the difference of the two batches
  // counts.
  const auto time_once = [&] {
    return slope_ ? figure_of(2 * batch_) - figure_of(batch_) : figure_of(batch_);
  };
  const bool disturbable = team_->agree_any(
      "whether others may disturb a batch",
      runner_->works_on_host() && session_->clock().runs_by_itself() && !mover.traits().changes_residency);
  const auto time_of_sample = [&] {
    const double time = time_once();
    const bool in_doubt = disturbable && time >= wanted && time < kUndisturbedAboveNs;
    return in_doubt ? std::min(time, time_once()) : time;
  };
  const double time = grow(batch_, {wanted, least, most}, time_of_sample);
  if (mover.traits().time_is_result() && time > kChaseSlopeBelowNs) slope_ = false;
  runner_->operation_ns = time / static_cast<double>(batch_);
  const double ticks = kTicksPerSample * tick;
  if (time >= ticks || mover.traits().changes_residency) return;
  repeats_ = std::min(kMostRepeats, static_cast<std::uint64_t>(std::ceil(ticks / std::max(time, tick))));
  timed_part_ = std::max(time, 0.0) * static_cast<double>(repeats_) / ticks;
}

// Whether a held queue may be slower on this rank than a running one.
bool SingleSampler::gate_may_slow() const {
  return !runner_->device().is_host() && !runner_->mover->traits().time_is_result() &&
         runner_->operation_ns <= kGateMattersBelowNs;
}

// Whether holding the queue slows the operations down.
bool SingleSampler::gate_slows() {
  if (!gated_ || !team_->agree_any("trials without the gate", gate_may_slow())) return false;
  double held = 0, running = 0;
  for (int trial = 0; trial < kGateTrials; ++trial) {
    const double behind = figure_of(batch_);
    if (!gated_) return false;  // the watchdog opened the gate
    gated_ = false;
    const double free = figure_of(batch_);
    gated_ = true;
    held = trial == 0 ? behind : std::min(held, behind);
    running = std::max(running, free);
  }
  if (held < kGateSlows * running) return false;
  held_ns_ = held / static_cast<double>(batch_);
  return true;
}

// The first warm-up of a device also lasts as long as its clocks may take to rise: a governor of CPU
// frequency samples the load every 10 ms or more rarely, and raises it in steps
// (Documentation/admin-guide/pm/cpufreq.rst).
bool SingleSampler::clocks_may_rise(Nanoseconds began) const {
  Device& device = runner_->device();
  if (!session_->clock().runs_by_itself() || options_->budget_s <= 0) return false;
  const bool busy = session_->clock().now() - began >= kLeastWarmUp;
  device.clocks_rose |= busy;
  return !device.clocks_rose;
}

void SingleSampler::learn() {
  learn_flow(*session_, *runner_, gate_, *options_, *team_);
  if (runner_->timed_by_host()) gated_ = false;
  choose_batch();
  if (gate_slows()) gated_ = false;
}

bool SingleSampler::takes_over(double& now_ns) {
  const KnownFlow* known = runner_->known.get();
  if (known == nullptr || known->batch == 0) return false;
  learn_flow(*session_, *runner_, gate_, *options_, *team_);
  batch_ = known->batch;
  repeats_ = known->repeats;
  slope_ = known->slope;
  gated_ = known->gated;
  held_ns_ = known->held_ns;
  timed_part_ = known->timed_part;
  now_ns = figure_of(batch_);
  if (now_ns >= known->least_ns) return true;
  batch_ = repeats_ = 1;
  gated_ = gate_ != nullptr;
  held_ns_ = 0;
  timed_part_ = 1;
  return false;
}

void SingleSampler::keep(double batch_ns) {
  if (runner_->known == nullptr) return;
  KnownFlow& known = *runner_->known;
  known.batch = batch_;
  known.repeats = repeats_;
  known.slope = slope_;
  known.gated = gated_;
  known.held_ns = held_ns_;
  known.timed_part = timed_part_;
  known.steady_ns = batch_ns;
  known.least_ns = std::max(kFasterThanKnown * batch_ns, std::min(wanted_ns_, batch_ns));
}

void SingleSampler::warm_up() {
  const Nanoseconds began = session_->clock().now();
  double before_ns = 0;
  const bool known = takes_over(before_ns);
  if (!known) {
    learn();
    before_ns = runner_->operation_ns * static_cast<double>(batch_);
  }
  const Nanoseconds until =
      session_->clock().now() + static_cast<Nanoseconds>(kBatchWarmUpShare * options_->budget_s * 1e9);
  const auto time_is_left = [&] {
    return team_->agree_all("time left to warm up", session_->clock().now() < until);
  };
  const auto rises = [&] { return team_->agree_any("clocks that may rise", clocks_may_rise(began)); };
  double now_ns = before_ns;
  const auto run = [&] {
    now_ns = figure_of(batch_);
    if (repeats_ == 1) slopes_.note(now_ns);
    return now_ns;
  };
  // A first batch as long as the steady ones of an earlier round shows that the path is awake.
  if (known && steady(runner_->known->steady_ns, before_ns) && !rises()) {
    if (repeats_ == 1) slopes_.note(before_ns);
  } else {
    run_until_steady(before_ns, run, time_is_left, rises);
  }
  keep(now_ns);
}

Sample SingleSampler::sample() {
  Batch once = time_batches(batch_);
  std::string discard = contradiction(once);
  bool doubtful = !discard.empty();
  once = slowest(once, doubtful);
  Sample sample{figure_ns(once) / static_cast<double>(batch_), once.of_one(), {}, {}, {}};
  std::string disturbed;  // the same on all ranks, as it follows from the times of the slowest
  if (slope_) {
    Batch twice = time_batches(2 * batch_);
    if (discard.empty()) discard = contradiction(twice);
    doubtful |= !discard.empty();
    twice = slowest(twice, doubtful);
    sample.times = twice.of_one();
    disturbed = slopes_.judge(figure_ns(once), figure_ns(twice));
    sample.time_ns = slope_of(disturbed, figure_ns(once), figure_ns(twice), batch_);
    if (!runner_->timed_by_host()) sample.times.device_ns = sample.time_ns;
  }
  if (doubtful) discard = team_->agree_text("sample to discard", std::move(discard));
  sample.discard = discard.empty() ? disturbed : discard;
  if (!counts_submission()) sample.times.submit_ns = 0;
  return sample;
}

// For interfaces that enqueue operations individually: a chase of any length is one launch.
bool SingleSampler::counts_submission() const {
  const Mover& mover = *runner_->mover;
  const bool enqueues =
      runner_->completion == Completion::queued || runner_->completion == Completion::blocking_call;
  return enqueues && mover.traits().queue_entries(2) > mover.traits().queue_entries(1);
}

double SingleSampler::resolution_ns() const {
  const double step = runner_->timed_by_host()
                          ? session_->host().timer_resolution_ns(0)
                          : runner_->runtime().timer_resolution_ns(runner_->device().ordinal);
  return step / static_cast<double>(batch_ * repeats_);
}

std::uint64_t SingleSampler::operations(const FlowRunner&) const {
  return repeats_ * (slope_ ? 3 * batch_ : batch_);
}

bool SingleSampler::double_batch() {
  const std::uint64_t most = team_->agree_min("room for twice the batch", most_operations());
  if (options_->batch != 0 || 2 * batch_ > most) return false;
  batch_ *= 2;
  slopes_ = {};
  return true;
}

}  // namespace byteways
