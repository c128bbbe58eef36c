// See lanes.hpp.
#include "timing/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kernels/arguments.hpp"
#include "timing/measure.hpp"

namespace byteways {
namespace {

constexpr double kLearnTimeoutNs = 1e8;
constexpr std::int64_t kMostPauseNs = 1'000'000'000;  // longer ones would be nearly all of any budget
// Operations from which a lane is learned, and the time that all but the first may take. Of one copy the
// driver may have room in a buffer of its own, of several not.
constexpr std::uint64_t kLearnOperations = 8;
constexpr double kLearnNs = 4e6;
constexpr int kCallTries = 4;
constexpr int kMostOpenings = 2;  // of the gate by its watchdog

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
  const auto plain = [](const Buffer* buffer) { return is_plain(buffer->allocation().memory()); };
  lane.plain_end = !flow.executor->is_host() && lane.mover->engine().empty() &&
                   (plain(flow.source) || plain(flow.destination));
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
  try {
    lane.idle = runtime.prepare(device, "idle");
  } catch (const Unsupported& error) {
    throw Unsupported(flow.interface, "pause_ns", error.text(), flow.executor->name());
  }
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
    runtime().launch(agent().device, idle, {1, 1, 0}, &arguments, sizeof arguments, *stream);
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

namespace {

// Operations as a program would submit them, behind no gate.
Batch time_ungated(Session& session, Lane& lane, std::uint64_t count) {
  lane.mover->restore();
  lane.mover->make_ready(lane.next_operation, count);
  Batch batch{{}, count};
  const Nanoseconds before = session.clock().now();
  lane.runtime().record(*lane.begin, *lane.stream);
  const Nanoseconds submitting = session.clock().now();
  lane.enqueue(count);
  const Nanoseconds submitted = session.clock().now();
  lane.runtime().record(*lane.end, *lane.stream);
  lane.runtime().synchronize(*lane.stream);
  batch.times.submit_ns = static_cast<double>(submitted - submitting);
  batch.times.host_ns = static_cast<double>(session.clock().now() - before);
  batch.times.device_ns = lane.runtime().elapsed_ns(*lane.begin, *lane.end);
  return batch;
}

// What a call costs that moves nothing.
double call_ns(Session& session, Lane& lane) {
  double least = 0;
  for (int attempt = 0; attempt < kCallTries; ++attempt) {
    const Nanoseconds before = session.clock().now();
    lane.runtime().record(*lane.begin, *lane.stream);
    const auto taken = static_cast<double>(session.clock().now() - before);
    least = attempt == 0 ? taken : std::min(least, taken);
  }
  return least;
}

// Whether `count` operations can be enqueued behind a shut gate.
void learn_blocking(Lane& lane, Gate& gate, const MeasureOptions& options, std::uint64_t count) {
  const double timeout = std::min(kLearnTimeoutNs, options.gate_timeout_s * 1e9);
  // Before the gate is shut: moving gigabytes back would look like a call that blocks.
  lane.mover->restore();
  lane.mover->make_ready(lane.next_operation, count);
  gate.shut(static_cast<Nanoseconds>(timeout));
  gate.hold(lane.agent(), *lane.stream);
  const bool launches_return = gate.is_shut();
  lane.enqueue(count);
  lane.blocking = !gate.open();
  lane.unobservable = launches_return ? "" : "kernel launches do not return before they end here";
  lane.runtime().synchronize(*lane.stream);
  if (lane.blocking && lane.plain_end)
    lane.staged =
        "the call did not return while its queue was held: the driver copies through a buffer of its own";
}

// Where the driver has room in a buffer of its own, the call moves the bytes there and returns.
void learn_staging(Session& session, Lane& lane, const Batch& batch) {
  if (lane.blocking || !lane.plain_end) return;
  const Times times = batch.of_one();
  if (!moved_by_call(times, call_ns(session, lane))) return;
  const auto us = [](double ns) { return std::to_string(std::llround(ns / 1e3)) + " us"; };
  lane.blocking = true;
  lane.staged = "the call took the host " + us(times.submit_ns) + " beside " + us(times.device_ns) +
                " on the device: the driver copies through a buffer of its own";
}

// As many as fit into a time that nobody minds, and one at least.
std::uint64_t operations_to_learn(const Lane& lane, double operation_ns) {
  const Mover& mover = *lane.mover;
  if (mover.walks() || mover.synchronous() || lane.one_at_a_time) return 1;
  std::uint64_t count = kLearnOperations;
  if (mover.changes_residency()) count = std::min(count, mover.rotation());
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(kLearnNs / std::max(1.0, operation_ns)), 1,
                                   count);
}

}  // namespace

void learn_lane(Session& session, Lane& lane, Gate* gate, const MeasureOptions& options) {
  lane.blocking = lane.mover->synchronous();
  lane.unobservable = "without the gate nothing is known about calls that block";
  time_ungated(session, lane, 1);  // loads kernels, makes first connections; nothing is held yet
  Batch batch = time_ungated(session, lane, 1);
  const std::uint64_t count = operations_to_learn(lane, batch.times.host_ns);
  if (gate != nullptr && !lane.blocking) learn_blocking(lane, *gate, options, count);
  if (count > 1) batch = time_ungated(session, lane, count);
  learn_staging(session, lane, batch);
  const Times times = batch.of_one();
  lane.operation_ns = lane.blocking ? times.host_ns : std::max(1.0, times.device_ns);
  if (lane.mover->walks()) learn_pace(lane);
}

void Sampler::note_opening() {
  if (++openings_ > kMostOpenings) gated_ = false;
}

}  // namespace byteways
