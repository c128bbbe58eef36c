// See single_thread.hpp.
#include "interfaces/single_thread.hpp"

#include <algorithm>

namespace byteways {

SingleThreadMover::SingleThreadMover(Session& session, const Flow& flow, const MakeRank& make_rank)
    : Mover(*flow.executor) {
  Flow first = flow;
  first.others.clear();
  std::vector<Flow> flows = {std::move(first)};
  flows.insert(flows.end(), flow.others.begin(), flow.others.end());
  Runtime& runtime = *executor().runtime;
  for (const Flow& of_rank : flows) {
    if (of_rank.executor->runtime != executor().runtime)
      throw Unsupported(flow.interface, "launch", Session::different_runtimes(*of_rank.executor, executor()));
    Rank rank;
    rank.mover = make_rank(session, of_rank);
    rank.calls = dynamic_cast<RankCalls*>(rank.mover.get());
    if (rank.calls == nullptr)
      throw Unsupported(flow.interface, "launch", "one thread cannot call it for several ranks");
    if (!ranks_.empty()) {
      rank.stream = runtime.create_stream(of_rank.executor->ordinal);
      rank.ended = runtime.create_event(of_rank.executor->ordinal);
    }
    ranks_.push_back(std::move(rank));
  }
  begun_ = runtime.create_event(executor().ordinal);
  traits_ = ranks_.front().mover->traits();
  traits_.engine_evidence += "; the streams of all GPUs begin and end a batch together, by events";
  traits_.entries_per_batch += flows.size();
}

void SingleThreadMover::enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) {
  Runtime& runtime = *executor().runtime;
  runtime.record(*begun_, stream);
  for (Rank& rank : ranks_) {
    rank.calls->begin(first_operation, count);
    if (rank.stream) runtime.wait(*rank.stream, *begun_);
  }
  RankCalls& first = *ranks_.front().calls;
  for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
    for (int step = 0; step < first.steps(); ++step)
      first.together([&] {
        for (Rank& rank : ranks_) rank.calls->call(rank.stream ? *rank.stream : stream, k, step);
      });
  for (Rank& rank : ranks_) {
    if (!rank.stream) continue;
    runtime.record(*rank.ended, *rank.stream);
    runtime.wait(stream, *rank.ended);
  }
}

void SingleThreadMover::prepare(std::uint64_t key) {
  for (Rank& rank : ranks_) rank.mover->prepare(key);
}

void SingleThreadMover::spoil(std::uint64_t first_operation, std::uint64_t count) {
  for (Rank& rank : ranks_) rank.mover->spoil(first_operation, count);
}

template <class Look>
Verification SingleThreadMover::of_all(const Look& look) {
  Verification all;
  for (Rank& rank : ranks_) {
    const Verification found = look(*rank.mover);
    all.checked_bytes += found.checked_bytes;
    if (found.ok) continue;
    const std::uint64_t checked = all.checked_bytes, bad = all.bad_count;
    if (all.ok) all = found;
    all.checked_bytes = checked;
    all.bad_count = bad + found.bad_count;
  }
  return all;
}

Verification SingleThreadMover::verify(std::uint64_t first_operation, std::uint64_t count) {
  return of_all([&](Mover& mover) { return mover.verify(first_operation, count); });
}

Verification SingleThreadMover::spot_check(std::uint64_t first_operation, std::uint64_t count) {
  return of_all([&](Mover& mover) { return mover.spot_check(first_operation, count); });
}

}  // namespace byteways
