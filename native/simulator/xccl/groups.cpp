// Calls and groups of calls of the simulated NCCL or RCCL, and how they get into streams. See xccl.hpp.
#include <algorithm>
#include <utility>

#include "simulator/engine/timeline.hpp"
#include "simulator/machine/graphs.hpp"
#include "simulator/xccl/xccl.hpp"

namespace byteways::sim::xccl {
namespace {

void wait_for_all(Lock& lock, const std::shared_ptr<Comm>& comm) {
  const auto complete = [comm] { return comm->complete(); };
  Timeline::of_process().wait_until(
      lock, {complete, [] { return std::string("all ranks to join a communicator of NCCL or RCCL"); }});
}

// Calls of one stream, which start together and end together.
void submit_on(Lock& lock, Machine machine, Stream& stream, const std::vector<Library::Call>& calls) {
  const auto batch = std::make_shared<Batch>();
  std::vector<std::pair<std::shared_ptr<Comm>, std::shared_ptr<Exchange>>> exchanges;
  for (const Library::Call& call : calls) exchanges.emplace_back(call.comm, call.exchange());
  batch->open = static_cast<int>(calls.size());
  for (const auto& [comm, exchange] : exchanges) {
    exchange->waiting.push_back(batch);
    comm->note(stream.place.index, batch);
  }
  auto come = std::make_unique<Operation>();
  // The kernels of a graph follow each other without being launched one by one.
  if (!stream.replays) come->fixed = picoseconds(machine.kernels.costs().launch_ns(stream.place, 1));
  come->on_end = [machine, exchanges]() mutable {
    for (const auto& [comm, exchange] : exchanges) comm->arrive(machine, exchange);
  };
  machine.streams.submit(lock, stream, std::move(come), true);
  auto leave = std::make_unique<Operation>();
  leave->after = batch->ended;
  machine.streams.submit(lock, stream, std::move(leave), false);
}

// On each stream what was called for it, in order: one thread may call for several GPUs. The calls of a group
// are one launch on each of them: the first takes the host the whole time of a call, the others what is left
// once the group has been planned, and each call beyond the first of a launch its own part.
void submit(Lock& lock, const Machine& machine, std::vector<Library::Call> calls) {
  const XcclModel& model = machine.model.xccl;
  double launch_ns = model.call_ns;
  while (!calls.empty()) {
    Stream* const stream = calls.front().stream;
    std::vector<Library::Call> same;
    std::copy_if(calls.begin(), calls.end(), std::back_inserter(same),
                 [stream](const Library::Call& call) { return call.stream == stream; });
    std::erase_if(calls, [stream](const Library::Call& call) { return call.stream == stream; });
    const auto further = static_cast<double>(same.size() - 1);
    Timeline::of_process().enter(lock, launch_ns + further * model.further_call_ns);
    launch_ns = model.call_ns * model.further_launch_part;
    Graphs::perform(lock, stream,
                    [machine, same](Lock& held, Stream* played) { submit_on(held, machine, *played, same); });
  }
}

}  // namespace

std::shared_ptr<Comm> Library::join(Lock& lock, std::uint64_t id, int size, int rank, int gpu) {
  std::shared_ptr<Comm> comm = comms_[id].lock();
  if (comm == nullptr) comms_[id] = comm = std::make_shared<Comm>(size);
  if (comm->size() != size) throw Failure(Code::invalid, "the ranks name different numbers of ranks");
  comm->join(rank, gpu);
  if (Group& group = groups_[Timeline::actor()]; group.depth > 0)
    group.joined.push_back(comm);
  else
    wait_for_all(lock, comm);
  return comm;
}

void Library::begin_group() { ++groups_[Timeline::actor()].depth; }

void Library::end_group(Lock& lock, Machine& machine) {
  Group& group = groups_[Timeline::actor()];
  if (group.depth == 0) throw Failure(Code::invalid, "no group has begun");
  if (--group.depth > 0) return;
  const auto joined = std::exchange(group.joined, {});
  const std::vector<Call> calls = std::exchange(group.calls, {});
  for (const auto& comm : joined) wait_for_all(lock, comm);
  submit(lock, machine, calls);
}

void Library::call(Lock& lock, Machine& machine, const Call& call) {
  if (Group& group = groups_[Timeline::actor()]; group.depth > 0)
    group.calls.push_back(call);
  else
    submit(lock, machine, {call});
}

}  // namespace byteways::sim::xccl
