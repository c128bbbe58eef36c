// See load_generator.hpp.
#include "timing/load_generator.hpp"

#include <algorithm>
#include <utility>

#include "timing/measure.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kPatternKey = 0x50ull << 32;  // unchecked data: the timed part was verified
constexpr double kMostSliceS = 60;                    // time limit for a slice

void require_pipelining(const FlowRunner& runner, const Flow& flow) {
  const char* why =
      !runner.mover->traits().can_pipeline       ? "its next batch begins when the one before has ended"
      : runner.mover->traits().changes_residency ? "what it leaves has to be brought back between operations"
                                                 : nullptr;
  if (why != nullptr) throw Unsupported(flow.interface, "sustain", why, flow.executor->name());
}

// The operations per slice for which two slices and their events fit a queue shared by `sharing` flows.
std::uint64_t most_of_a_slice(const FlowRunner& runner, std::uint64_t sharing) {
  const std::uint64_t each = runner.queue_entries(2) - runner.queue_entries(1);
  if (each == 0) return UINT64_MAX / 4;
  const std::uint64_t depth = runner.runtime().queue_depth(runner.device().ordinal);
  return std::max<std::uint64_t>(3, depth / each / (2 * sharing)) - 2;
}

}  // namespace

LoadGenerator::LoadGenerator(Session& session, const std::vector<Flow>& flows, double slice_s,
                             bool interference)
    : by_itself_(session.clock().runs_by_itself()) {
  if (flows.empty()) throw Error("sustain", "flows", "nothing would go on");
  if (!(slice_s > 0 && slice_s <= kMostSliceS))
    throw Error("sustain", "slice_s", std::to_string(slice_s) + " s are no slice");
  // As measured: kernels leave each other room unless they are background load.
  std::vector<Flow> together = flows;
  if (!interference) share_executors(together);
  for (FlowRunner& runner : make_runners(session, together)) flows_.push_back({std::move(runner), {}});
  SoloTeam alone;
  for (std::size_t k = 0; k < flows_.size(); ++k) {
    ActiveFlow& flow = flows_[k];
    FlowRunner& runner = flow.runner;
    require_pipelining(runner, flows[k]);
    runner.mover->prepare(kPatternKey + k);
    learn_flow(session, runner, nullptr, MeasureOptions(), alone);
    for (auto& end : flow.ends) end = runner.runtime().create_event(runner.device().ordinal);
    const auto sharing = std::count_if(flows_.begin(), flows_.end(), [&](const ActiveFlow& other) {
      return other.runner.stream == runner.stream;
    });
    const double wanted = slice_s * 1e9 / std::max(1.0, runner.operation_ns);
    flow.slice = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1,
                                           most_of_a_slice(runner, static_cast<std::uint64_t>(sharing)));
    const auto known = std::find_if(queues_.begin(), queues_.end(), [&](const Queue& queue) {
      return queue.flows.front()->runner.stream == runner.stream;
    });
    Queue& queue = known == queues_.end() ? queues_.emplace_back() : *known;
    queue.flows.push_back(&flow);
  }
}

void LoadGenerator::enqueue_slice(ActiveFlow& flow) {
  FlowRunner& runner = flow.runner;
  flow.enqueued += flow.slice;
  if (runner.completion != Completion::awaited) return runner.enqueue(flow.slice);
  for (std::uint64_t k = 0; k < flow.slice; ++k) {
    runner.enqueue(1);
    runner.runtime().synchronize(*runner.stream);
  }
}

// Enqueues another slice of every flow, then waits for the previous one.
void LoadGenerator::advance(Queue& queue) {
  const std::uint64_t now = queue.slices % 2, before = 1 - now;
  for (ActiveFlow* flow : queue.flows) {
    enqueue_slice(*flow);
    flow->runner.runtime().record(*flow->ends[now], *flow->runner.stream);
  }
  ++queue.slices;
  if (queue.slices == 1) return;
  for (ActiveFlow* flow : queue.flows) {
    flow->runner.runtime().synchronize(*flow->ends[before]);
    flow->done->store(flow->slice * (queue.slices - 1));
  }
}

void LoadGenerator::run(Queue& queue) noexcept {
  try {
    const Device& device = queue.flows.front()->runner.device();
    device.runtime->bind_thread_near(device.ordinal);
    while (!stop_) advance(queue);
  } catch (...) {
    queue.failure = std::current_exception();
    stop_ = true;
  }
}

void LoadGenerator::start() {
  if (!by_itself_)
    throw Unsupported(
        "sustain", "virtual time",
        "on a simulated machine time passes for one caller at a time, and nothing goes on by itself");
  if (queues_.front().thread.joinable()) throw Error("sustain", "start", "the flows are going on already");
  for (Queue& queue : queues_) queue.thread = std::thread([this, &queue] { run(queue); });
}

void LoadGenerator::stop() {
  stop_ = true;
  for (Queue& queue : queues_)
    if (queue.thread.joinable()) queue.thread.join();
}

LoadGenerator::~LoadGenerator() { stop(); }

void LoadGenerator::finish() {
  stop();
  for (const Queue& queue : queues_)
    if (queue.failure) std::rethrow_exception(queue.failure);
  for (ActiveFlow& flow : flows_) {
    flow.runner.runtime().synchronize(*flow.runner.stream);
    flow.done->store(flow.enqueued);
  }
}

std::vector<std::uint64_t> LoadGenerator::operations() const {
  std::vector<std::uint64_t> counts;
  for (const ActiveFlow& flow : flows_) counts.push_back(flow.done->load());
  return counts;
}

double LoadGenerator::moved_bytes() const {
  double bytes = 0;
  for (const ActiveFlow& flow : flows_)
    bytes += static_cast<double>(flow.done->load()) *
             static_cast<double>(flow.runner.mover->traits().bytes_per_operation);
  return bytes;
}

}  // namespace byteways
