// See sustain.hpp.
#include "timing/sustain.hpp"

#include <algorithm>
#include <utility>

#include "timing/measure.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kPatternKey = 0x50ull << 32;  // of data that nobody checks: what was timed was
constexpr double kMostSliceS = 60;                    // nobody waits longer for a slice to end

void require_going_on(const Lane& lane, const Flow& flow) {
  const char* why = !lane.mover->goes_on() ? "its next batch begins when the one before has ended"
                    : lane.mover->changes_residency()
                        ? "what it leaves has to be brought back between operations"
                        : nullptr;
  if (why != nullptr) throw Unsupported(flow.interface, "sustain", why, flow.executor->name());
}

// Operations of which two slices and their events fit the queue, that `sharing` flows have.
std::uint64_t most_of_a_slice(const Lane& lane, std::uint64_t sharing) {
  const std::uint64_t each = lane.queue_entries(2) - lane.queue_entries(1);
  if (each == 0) return UINT64_MAX / 4;
  const std::uint64_t depth = lane.runtime().queue_depth(lane.agent().device);
  return std::max<std::uint64_t>(3, depth / each / (2 * sharing)) - 2;
}

}  // namespace

Sustainer::Sustainer(Session& session, const std::vector<Flow>& flows, double slice_s, bool interference)
    : by_itself_(session.clock().runs_by_itself()) {
  if (flows.empty()) throw Error("sustain", "flows", "nothing would go on");
  if (!(slice_s > 0 && slice_s <= kMostSliceS))
    throw Error("sustain", "slice_s", std::to_string(slice_s) + " s are no slice");
  // As they were measured: kernels leave each other room unless they are to disturb.
  std::vector<Flow> together = flows;
  if (!interference) share_executors(together);
  for (Lane& lane : make_lanes(session, together)) flows_.push_back({std::move(lane), {}});
  SoloTeam alone;
  for (std::size_t k = 0; k < flows_.size(); ++k) {
    Going& going = flows_[k];
    Lane& lane = going.lane;
    require_going_on(lane, flows[k]);
    lane.mover->prepare(kPatternKey + k);
    learn_lane(session, lane, nullptr, MeasureOptions(), alone);
    for (auto& end : going.ends) end = lane.runtime().create_event(lane.agent().device);
    const auto sharing = std::count_if(flows_.begin(), flows_.end(),
                                       [&](const Going& other) { return other.lane.stream == lane.stream; });
    const double wanted = slice_s * 1e9 / std::max(1.0, lane.operation_ns);
    going.slice = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1,
                                            most_of_a_slice(lane, static_cast<std::uint64_t>(sharing)));
    const auto known = std::find_if(queues_.begin(), queues_.end(), [&](const Queue& queue) {
      return queue.flows.front()->lane.stream == lane.stream;
    });
    Queue& queue = known == queues_.end() ? queues_.emplace_back() : *known;
    queue.flows.push_back(&going);
  }
}

void Sustainer::enqueue_slice(Going& going) {
  Lane& lane = going.lane;
  going.enqueued += going.slice;
  if (!lane.one_at_a_time) return lane.enqueue(going.slice);
  for (std::uint64_t k = 0; k < going.slice; ++k) {
    lane.enqueue(1);
    lane.runtime().synchronize(*lane.stream);
  }
}

// Enqueues another slice of every flow, then waits until the one before is done.
void Sustainer::advance(Queue& queue) {
  const std::uint64_t now = queue.slices % 2, before = 1 - now;
  for (Going* going : queue.flows) {
    enqueue_slice(*going);
    going->lane.runtime().record(*going->ends[now], *going->lane.stream);
  }
  ++queue.slices;
  if (queue.slices == 1) return;
  for (Going* going : queue.flows) {
    going->lane.runtime().synchronize(*going->ends[before]);
    going->done->store(going->slice * (queue.slices - 1));
  }
}

void Sustainer::run(Queue& queue) noexcept {
  try {
    const Agent& agent = queue.flows.front()->lane.agent();
    agent.runtime->bind_thread_near(agent.device);
    while (!stop_) advance(queue);
  } catch (...) {
    queue.failure = std::current_exception();
    stop_ = true;
  }
}

void Sustainer::start() {
  if (!by_itself_)
    throw Unsupported(
        "sustain", "virtual time",
        "on a simulated machine time passes for one caller at a time, and nothing goes on by itself");
  if (queues_.front().thread.joinable()) throw Error("sustain", "start", "the flows are going on already");
  for (Queue& queue : queues_) queue.thread = std::thread([this, &queue] { run(queue); });
}

void Sustainer::stop() {
  stop_ = true;
  for (Queue& queue : queues_)
    if (queue.thread.joinable()) queue.thread.join();
}

Sustainer::~Sustainer() { stop(); }

void Sustainer::finish() {
  stop();
  for (const Queue& queue : queues_)
    if (queue.failure) std::rethrow_exception(queue.failure);
  for (Going& going : flows_) {
    going.lane.runtime().synchronize(*going.lane.stream);
    going.done->store(going.enqueued);
  }
}

std::vector<std::uint64_t> Sustainer::operations() const {
  std::vector<std::uint64_t> counts;
  for (const Going& going : flows_) counts.push_back(going.done->load());
  return counts;
}

double Sustainer::moved_bytes() const {
  double bytes = 0;
  for (const Going& going : flows_)
    bytes += static_cast<double>(going.done->load()) *
             static_cast<double>(going.lane.mover->bytes_per_operation());
  return bytes;
}

}  // namespace byteways
