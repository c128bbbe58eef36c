// See application.hpp.
#include "interfaces/exchange/application.hpp"

#include <algorithm>

namespace byteways {
namespace {

constexpr unsigned kApplicationThreads = 256;
constexpr unsigned kBlocksPerMultiprocessor = 8;  // 2048 threads: all that a multiprocessor holds

}  // namespace

std::array<int, 4> RankGrid::neighbours() const {
  const int rank = row * columns + column;
  return {column > 0 ? rank - 1 : kNobody, column + 1 < columns ? rank + 1 : kNobody,
          row > 0 ? rank - columns : kNobody, row + 1 < rows ? rank + columns : kNobody};
}

RankGrid grid_of(const Flow& flow) {
  const int ranks = flow.ranks->size(), rank = flow.ranks->rank();
  const auto columns = static_cast<int>(flow.count("columns", 1));
  if (columns > ranks || ranks % columns != 0)
    throw Unsupported(flow.interface, "columns",
                      std::to_string(ranks) + " ranks do not fill rows of " + std::to_string(columns));
  return {columns, ranks / columns, rank % columns, rank / columns};
}

ApplicationMover::ApplicationMover(Session& session, const Flow& flow,
                                   const std::vector<const char*>& kernels)
    : Mover(*flow.executor),
      session_(&session),
      flow_(flow),
      whole_(flow.word("timed", "iteration") == "iteration"),
      inline_(computes_inline(session, *flow.executor)) {
  if (flow.ranks == nullptr)
    throw Unsupported(flow.interface, "ranks", "it runs between ranks, and this is one alone");
  std::string reason;
  try {
    if (flow.source == nullptr || flow.destination == nullptr)
      throw Unsupported(flow.interface, "buffers", "each rank has its data and its messages");
    grid_ = grid_of(flow);
    Flow reached = flow;
    // A core packs particles: kernels do not touch their messages.
    if (flow.interface == "particles" && packs_as_original(flow)) reached.destination = nullptr;
    require_access(session, reached);
    for (const char* name : kernels) {
      Kernel found{require_kernel(flow, executor(), name)};
      if (inline_) found.on_host = find_host_kernel(name)->function;
      kernels_.emplace(name, found);
    }
    stream_ = executor().runtime->create_stream(executor().ordinal);
  } catch (const Error& error) {
    reason = error.text();
  }
  agree_possible(flow, reason);
  traits_.synchronous = true;
  traits_.fixed_cost = false;  // every operation is waited for
  traits_.concurrency_obstacle = "its ranks wait for each other";
}

// After a failure in the middle kernels may still use what is about to be freed.
ApplicationMover::~ApplicationMover() {
  try {
    if (stream_) wait();
  } catch (const Error&) {  // the failure has been told already
  }
}

void ApplicationMover::open_transport(const std::vector<int>& neighbours, const std::string& described) {
  transport_ = make_transport(*session_, flow_, *flow_.destination, neighbours);
  traits_.engine = transport_->engine();
  traits_.engine_evidence = described + "; " + transport_->evidence();
  traits_.evidence.fallback = transport_->fallback();
}

void ApplicationMover::enqueue(Stream&, std::uint64_t, std::uint64_t count) {
  for (std::uint64_t k = 0; k < count; ++k) {
    iterate();
    wait();
    ++operations_;
  }
}

void ApplicationMover::reduce() {
  const auto ranks = static_cast<std::uint64_t>(flow_.ranks->size());
  const std::uint64_t sum = transport_->sum(1, *stream_);
  if (sum != ranks) sums_ = {sums_.bad_count + 1, 0, ranks, sum};
}

void ApplicationMover::poison_messages() {
  Device& owner = flow_.destination->service_device();
  poison(*session_, owner, flow_.destination->data(), flow_.destination->bytes() / kWord, 1);
  owner.runtime->synchronize(session_->service_stream(owner));
}

void ApplicationMover::wait() const {
  if (!inline_) executor().runtime->synchronize(*stream_);
}

LaunchShape ApplicationMover::shape(const Kernel& kernel, std::uint64_t items) const {
  if (executor().is_host()) return {1, 1, 0};  // a rank computes on its own core
  const unsigned threads = std::min(kApplicationThreads, kernel.prepared.info.max_threads);
  const auto processors = static_cast<std::uint64_t>(std::max(1, executor().info.multiprocessors));
  const std::uint64_t useful = std::max<std::uint64_t>(1, (items + threads - 1) / threads);
  return {static_cast<unsigned>(std::min(useful, processors * kBlocksPerMultiprocessor)), threads, 0};
}

}  // namespace byteways
