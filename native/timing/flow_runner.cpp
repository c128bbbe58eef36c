// See flow_runner.hpp.
#include "timing/flow_runner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "interfaces/registry.hpp"
#include "interfaces/service/arguments.hpp"
#include "timing/known_flow.hpp"
#include "timing/measure.hpp"

namespace byteways {
namespace {

constexpr double kLearnTimeoutNs = 1e8;
constexpr std::int64_t kMostPauseNs = 1'000'000'000;  // longer pauses would use up nearly any budget
// Operations used to learn a flow's behaviour, and the time limit for all but the first. A driver may buffer
// a single copy internally, but not several.
constexpr std::uint64_t kLearnOperations = 8;
constexpr double kLearnNs = 4e6;
constexpr int kCallTries = 4;
constexpr const char* kLaunchesBlock = "kernel launches do not return before they end here";

// A chase of one step is mostly launch overhead: the time of a step is the slope between two chases.
void learn_pace(FlowRunner& runner) {
  const std::uint64_t steps = runner.mover->traits().least_batch;
  double before = 0, after = 0;
  for (double* time : {&before, &after}) {
    runner.runtime().record(*runner.begin, *runner.stream);
    runner.enqueue(time == &before ? steps : 2 * steps);
    runner.runtime().record(*runner.end, *runner.stream);
    runner.runtime().synchronize(*runner.end);
    *time = runner.runtime().elapsed_ns(*runner.begin, *runner.end);
  }
  runner.operation_ns = std::max(after - before, 0.5 * before) / static_cast<double>(steps);
}

FlowRunner make_runner(Session& session, const Flow& flow, std::shared_ptr<Stream> stream) {
  Runtime& runtime = *flow.executor->runtime;
  const int device = flow.executor->ordinal;
  FlowRunner runner;
  runner.mover = make_mover(session, flow);
  runner.stream =
      stream ? std::move(stream) : create_stream_for(session, *flow.executor, flow.number("core", -1));
  runner.begin = runtime.create_event(device);
  runner.end = runtime.create_event(device);
  runner.between_ranks = flow.ranks != nullptr;
  if (runner.mover->traits().synchronous)
    runner.completion = Completion::synchronous;
  else if (flow.word("pace") == "one-at-a-time" || runner.mover->traits().loop.iterations != 0)
    runner.completion = Completion::awaited;
  const auto plain = [](const Buffer* buffer) { return is_plain(buffer->allocation().memory()); };
  runner.plain_end = !flow.executor->is_host() && runner.mover->traits().engine.empty() &&
                     (plain(flow.source) || plain(flow.destination));
  const std::string submit = flow.word("submit", "calls");
  for (const char* option : {"pace", "pause_ns"})
    if (submit != "calls" && flow.options.contains(option))
      throw Unsupported(flow.interface, option, "what is submitted as a " + submit + " has none",
                        flow.executor->name());
  if (flow.xccl != nullptr) runner.communicators.push_back(flow.xccl);
  for (const Flow& other : flow.others)
    if (other.xccl != nullptr) runner.communicators.push_back(other.xccl);
  const std::int64_t pause_ns = flow.number("pause_ns");
  if (pause_ns == 0) return runner;
  if (pause_ns < 0 || pause_ns > kMostPauseNs)
    throw Unsupported(
        flow.interface, "pause_ns",
        std::to_string(pause_ns) + " ns are no pause: it lasts from 0 to " + std::to_string(kMostPauseNs),
        flow.executor->name());
  runner.pause_ns = static_cast<std::uint64_t>(pause_ns);
  if (runner.mover->traits().synchronous)
    throw Unsupported(flow.interface, "pause_ns", "its operations are in no queue that could idle",
                      flow.executor->name());
  try {
    runner.idle = runtime.prepare(device, "idle");
  } catch (const Unsupported& error) {
    throw Unsupported(flow.interface, "pause_ns", error.text(), flow.executor->name());
  }
  return runner;
}

void require_company(const FlowRunner& runner, const Flow& flow) {
  const std::string why = runner.completion == Completion::awaited
                              ? "its operations are waited for one by one"
                              : runner.mover->traits().concurrency_obstacle;
  if (!why.empty())
    throw Unsupported(flow.interface, "pattern", why + ": it runs alone", flow.executor->name());
}

}  // namespace

FlowRunner::~FlowRunner() {
  if (mover == nullptr || stream == nullptr) return;
  if (next_operation != 0 && std::uncaught_exceptions() > exceptions)
    for (XcclCommunicator* communicator : communicators) communicator->abandon();
  try {
    runtime().synchronize(*stream);
  } catch (const std::exception&) {  // destructors never throw; the next call on this device reports it
  }
}

void FlowRunner::enqueue(std::uint64_t count) {
  const std::uint64_t first = next_operation;
  next_operation += count;
  if (pause_ns == 0) {
    mover->enqueue(*stream, first, count);
    return;
  }
  const IdleArguments arguments{pause_ns};
  for (std::uint64_t k = 0; k < count; ++k) {
    mover->enqueue(*stream, first + k, 1);
    runtime().launch(device().ordinal, idle, {1, 1, 0}, &arguments, sizeof arguments, *stream);
  }
}

std::uint64_t FlowRunner::queue_entries(std::uint64_t count) const {
  return pause_ns == 0 ? mover->traits().queue_entries(count)
                       : count * (mover->traits().queue_entries(1) + 1);
}

std::uint64_t FlowRunner::most_held(std::uint64_t others) const {
  const std::uint64_t each = queue_entries(2) - queue_entries(1);
  if (each == 0) return UINT64_MAX / 4;
  const std::uint64_t depth = std::max<std::uint64_t>(runtime().queue_depth(device().ordinal), others + 1);
  return (depth - others) / each;
}

std::vector<FlowRunner> make_runners(Session& session, const std::vector<Flow>& flows) {
  std::map<std::pair<Device*, std::int64_t>, std::shared_ptr<Stream>> shared;
  std::vector<FlowRunner> runners;
  for (const Flow& flow : flows) {
    const std::int64_t number = flow.number("stream", -1);
    runners.push_back(make_runner(session, flow, number < 0 ? nullptr : shared[{flow.executor, number}]));
    if (number >= 0) shared[{flow.executor, number}] = runners.back().stream;
    if (flows.size() > 1) require_company(runners.back(), flow);
  }
  return runners;
}

void share_executors(std::vector<Flow>& flows) {
  for (Flow& flow : flows)
    flow.sharing = static_cast<unsigned>(std::count_if(
        flows.begin(), flows.end(), [&](const Flow& other) { return other.executor == flow.executor; }));
}

namespace {

// Times operations as a program would submit them, without a gate.
Batch time_ungated(Session& session, FlowRunner& runner, std::uint64_t count, Team& team) {
  runner.mover->restore();
  runner.mover->make_ready(runner.next_operation, count);
  team.barrier("operations to learn from");
  Batch batch{{}, count};
  const Nanoseconds before = session.clock().now();
  runner.runtime().record(*runner.begin, *runner.stream);
  const Nanoseconds submitting = session.clock().now();
  runner.enqueue(count);
  const Nanoseconds submitted = session.clock().now();
  runner.runtime().record(*runner.end, *runner.stream);
  runner.runtime().synchronize(*runner.stream);
  batch.times.submit_ns = static_cast<double>(submitted - submitting);
  batch.times.host_ns = static_cast<double>(session.clock().now() - before);
  batch.times.device_ns = runner.runtime().elapsed_ns(*runner.begin, *runner.end);
  return batch;
}

// The host time of a call that moves no data.
double call_ns(Session& session, FlowRunner& runner) {
  double least = 0;
  for (int attempt = 0; attempt < kCallTries; ++attempt) {
    const Nanoseconds before = session.clock().now();
    runner.runtime().record(*runner.begin, *runner.stream);
    const auto taken = static_cast<double>(session.clock().now() - before);
    least = attempt == 0 ? taken : std::min(least, taken);
  }
  return least;
}

// Whether `count` operations block when enqueued behind a shut gate. None are enqueued if the queue has no
// room for them: they would wait for the gate.
bool blocks_behind(FlowRunner& runner, Gate& gate, const MeasureOptions& options, std::uint64_t count) {
  const double timeout = std::min(kLearnTimeoutNs, options.gate_timeout_s * 1e9);
  // Before the gate is shut: migrating gigabytes back would look like a blocking call.
  runner.mover->restore();
  const bool fits = count <= runner.most_held(kTakenEntries);
  if (fits) runner.mover->make_ready(runner.next_operation, count);
  gate.shut(static_cast<Nanoseconds>(timeout));
  gate.hold(runner.device(), *runner.stream);
  const bool launches_return = gate.is_shut();
  if (fits) runner.enqueue(count);
  const bool blocks = !gate.open();
  runner.unobservable = launches_return ? "" : kLaunchesBlock;
  runner.runtime().synchronize(*runner.stream);
  if (blocks)
    runner.staged = std::string("the call did not return while its queue was held: ") +
                    (runner.plain_end ? "the driver stages the copy through an internal buffer"
                                      : "it waits for its copy");
  return blocks;
}

// Of calls that wait: whether their engine can be observed by the call that does not.
void learn_launches(FlowRunner& runner, Gate& gate, const MeasureOptions& options) {
  if (runner.plain_end) {
    runner.unobservable = "a driver may move plain memory within the call";
    return;
  }
  gate.shut(static_cast<Nanoseconds>(std::min(kLearnTimeoutNs, options.gate_timeout_s * 1e9)));
  gate.hold(runner.device(), *runner.stream);
  runner.unobservable = gate.is_shut() ? "" : kLaunchesBlock;
  gate.open();
  runner.runtime().synchronize(*runner.stream);
}

// Whether the call itself moves the bytes: a driver with an internal buffer copies them there and returns.
bool moves_in_the_call(Session& session, FlowRunner& runner, const Batch& batch) {
  if (runner.blocks() || !runner.plain_end) return false;
  const Times times = batch.of_one();
  if (!moved_by_call(times, call_ns(session, runner))) return false;
  const auto us = [](double ns) { return std::to_string(std::llround(ns / 1e3)) + " us"; };
  runner.staged = "the call took the host " + us(times.submit_ns) + " beside " + us(times.device_ns) +
                  " on the device: the driver stages the copy through an internal buffer";
  return true;
}

// A finding of one rank applies to all. Operations that are isolated stay so.
void agree_on_blocking(FlowRunner& runner, Team& team, std::string_view question, bool found) {
  if (team.agree_any(question, found) && runner.completion == Completion::queued)
    runner.completion = Completion::blocking_call;
}

// As many as fit into a short time, at least one.
std::uint64_t operations_to_learn(const FlowRunner& runner, double operation_ns) {
  const Mover& mover = *runner.mover;
  if (mover.traits().walks || runner.completion == Completion::synchronous ||
      runner.completion == Completion::awaited)
    return 1;
  std::uint64_t count = kLearnOperations;
  if (mover.traits().changes_residency) count = std::min(count, mover.traits().rotation);
  count = std::clamp<std::uint64_t>(runner.most_held(kTakenEntries), 1, count);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(kLearnNs / std::max(1.0, operation_ns)), 1,
                                   count);
}

bool takes_over(FlowRunner& runner) {
  if (runner.known == nullptr || runner.known->operation_ns == 0) return false;
  runner.completion = runner.known->completion;
  runner.staged = runner.known->staged;
  runner.unobservable = runner.known->unobservable;
  runner.operation_ns = runner.known->operation_ns;
  return true;
}

void keep(const FlowRunner& runner) {
  if (runner.known == nullptr) return;
  runner.known->completion = runner.completion;
  runner.known->staged = runner.staged;
  runner.known->unobservable = runner.unobservable;
  runner.known->operation_ns = runner.operation_ns;
}

}  // namespace

void learn_flow(Session& session, FlowRunner& runner, Gate* gate, const MeasureOptions& options, Team& team) {
  if (takes_over(runner)) return;
  agree_on_blocking(runner, team, "calls that do the work", runner.completion == Completion::synchronous);
  runner.unobservable = "without the gate nothing is known about calls that block";
  Batch batch = time_ungated(session, runner, 1, team);  // loads kernels and opens connections
  if (runner.first_ns == 0) runner.first_ns = runner.blocks() ? batch.times.submit_ns : batch.times.host_ns;
  batch = time_ungated(session, runner, 1, team);
  const std::uint64_t count =
      team.agree_min("number of operations to learn from", operations_to_learn(runner, batch.times.host_ns));
  const bool held = gate != nullptr && !runner.blocks();
  const bool blocks = held && blocks_behind(runner, *gate, options, count);
  agree_on_blocking(runner, team, "calls that block", blocks);
  if (gate != nullptr && !runner.mover->traits().call_without_wait.empty())
    learn_launches(runner, *gate, options);
  if (count > 1) batch = time_ungated(session, runner, count, team);
  const bool moves = !blocks && moves_in_the_call(session, runner, batch);
  agree_on_blocking(runner, team, "calls that move the bytes", moves);
  const Times times = batch.of_one();
  const bool by_host = runner.blocks() || blocks || moves;
  runner.operation_ns = by_host ? times.host_ns : std::max(1.0, times.device_ns);
  if (runner.mover->traits().walks) learn_pace(runner);
  runner.operation_ns = team.agree_max("time of an operation", runner.operation_ns);
  keep(runner);
}

}  // namespace byteways
