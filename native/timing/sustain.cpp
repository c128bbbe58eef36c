// See sustain.hpp.
#include "timing/sustain.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "timing/measure.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kPatternKey = 0x50ull << 32;  // of data that nobody checks: what was timed was

}  // namespace

Sustainer::Sustainer(Session& session, const std::vector<Flow>& flows, double slice_s) {
  if (flows.empty()) throw Error("sustain", "flows", "nothing would go on");
  const MeasureOptions options;
  // As they are measured: kernels leave each other room, and flows that were asked to share a stream do.
  std::vector<Flow> together = flows;
  share_executors(together);
  std::map<std::pair<Agent*, std::int64_t>, std::shared_ptr<Stream>> shared_streams;
  for (const Flow& flow : together) {
    Going going;
    const std::int64_t number = flow.number("stream", -1);
    std::shared_ptr<Stream> stream;
    if (number >= 0) stream = shared_streams[{flow.executor, number}];
    going.lane = make_lane(session, flow, std::move(stream));
    if (number >= 0) shared_streams[{flow.executor, number}] = going.lane.stream;
    Lane& lane = going.lane;
    if (lane.mover->changes_residency())
      throw Unsupported(flow.interface, "sustain", "its pages have to be moved back between operations");
    lane.mover->prepare(kPatternKey + flows_.size());
    learn_lane(session, lane, nullptr, options);
    for (auto& end : going.ends) end = lane.runtime().create_event(lane.agent().device);
    const std::uint64_t each = lane.queue_entries(2) - lane.queue_entries(1);
    const std::uint64_t depth = lane.runtime().queue_depth(lane.agent().device);
    const auto sharing =
        static_cast<std::uint64_t>(std::count_if(together.begin(), together.end(), [&](const Flow& other) {
          return number >= 0 && other.executor == flow.executor && other.number("stream", -1) == number;
        }));
    // Two slices and their events have to fit the queue.
    const std::uint64_t slices = 2 * std::max<std::uint64_t>(1, sharing);
    const std::uint64_t fitting = depth / std::max<std::uint64_t>(1, each) / slices;
    const std::uint64_t most = each == 0 ? UINT64_MAX / 4 : std::max<std::uint64_t>(3, fitting) - 2;
    const double wanted = slice_s * 1e9 / std::max(1.0, lane.operation_ns);
    going.slice = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, most);
    flows_.push_back(std::move(going));
  }
}

void Sustainer::wait_for(Going& going, std::uint64_t slice_number) {
  going.lane.runtime().synchronize(*going.ends[slice_number % 2]);
  going.done->store(going.slice * (slice_number + 1));
}

void Sustainer::enqueue_slice(Going& going) {
  Lane& lane = going.lane;
  if (!lane.one_at_a_time) return lane.enqueue(going.slice);
  for (std::uint64_t k = 0; k < going.slice; ++k) {
    lane.enqueue(1);
    lane.runtime().synchronize(*lane.stream);
  }
}

void Sustainer::step() {
  for (Going& going : flows_) {
    enqueue_slice(going);
    going.lane.runtime().record(*going.ends[slices_ % 2], *going.lane.stream);
    going.enqueued += going.slice;
  }
  if (slices_ > 0)
    for (Going& going : flows_) wait_for(going, slices_ - 1);
  ++slices_;
}

Sustainer::~Sustainer() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  for (Going& going : flows_) {
    try {
      going.lane.runtime().synchronize(*going.lane.stream);  // before what it works on may go
    } catch (const std::exception&) {                        // destructors never throw
    }
  }
}

void Sustainer::start() {
  if (thread_.joinable()) throw Error("sustain", "start", "the flows are going on already");
  thread_ = std::thread([this] {
    try {
      const Agent& agent = flows_.front().lane.agent();
      agent.runtime->bind_thread_near(agent.device);
      while (!stop_) step();
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

void Sustainer::finish() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(failure_);
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
