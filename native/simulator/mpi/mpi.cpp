// See mpi.hpp.
#include "simulator/mpi/mpi.hpp"

#include <algorithm>
#include <utility>

#include "simulator/engine/thread_state.hpp"
#include "simulator/machine/world.hpp"

namespace byteways::sim::mpi {
namespace {

constexpr int kFirstError = 1000;  // above the error classes of MPI

}  // namespace

Transfers& Call::transfers() { return World::get().transfers(); }

Mpi& Mpi::of_process() {
  static Mpi* const mpi = new Mpi;  // never destroyed, like the timeline
  return *mpi;
}

Mpi::Mpi() {
  Timeline::of_process().when_gone([this](int rank) { drop(rank); });
}

void Mpi::drop(int rank) {
  messages_.withdraw_all(rank);
  one_sided_.withdraw_all(rank);
  std::erase_if(requests_, [&](const auto& each) {
    if (each.second->owner != rank) return false;
    messages_.withdraw(each.second);
    return true;
  });
}

int Comm::rank_of(int member) const {
  const auto found = std::find(members.begin(), members.end(), member);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

void Mpi::begin(Call& call, CallKind kind) {
  Timeline& time = Timeline::of_process();
  if (this_thread().dead) throw Failure(Code::device_lost, "this rank is dead");
  if (Timeline::actor() == kNoActor && time.actors() > 0)
    throw Failure(Code::invalid, "this thread is none of the ranks");
  // A call may draw random noise before it takes time: the order of the ranks' clocks makes draws
  // reproducible.
  if (kind != CallKind::local) time.enter(call.lock, 0);
  if (team_ != time.team()) forget_team();
  // Also for a failing call: its remains must not match the ranks' next call.
  if (kind == CallKind::collective) call.number = ++collectives_[{call.me.number, call.comm}];
  if (kind != CallKind::local) hit_by_faults(call);
}

void Mpi::forget_team() {
  team_ = Timeline::of_process().team();
  messages_ = {};
  one_sided_ = {};
  comms_.clear();
  parts_.clear();
  collectives_.clear();
  requests_.clear();
}

void Mpi::hit_by_faults(Call& call) {
  Timeline& time = Timeline::of_process();
  World& world = World::get();
  const Faults& faults = world.faults();
  const std::uint64_t number = world.transfers().count_call(call.me.number);
  if (!faults.any()) return;
  const std::string rank = std::to_string(call.me.number);
  const auto failure = [&](Code code, const char* how) {
    return Failure(code, "rank " + rank + how + std::to_string(number) + " (fault)");
  };
  if (const Fault* fault = faults.find(Fault::Kind::rank_throws, rank))
    if (fault->number == number) throw failure(Code::internal, " fails in its call ");
  if (const Fault* fault = faults.find(Fault::Kind::rank_dies, rank))
    if (number >= fault->number) {
      this_thread().dead = true;
      time.die(call.lock);
      throw failure(Code::device_lost, " dies in its call ");
    }
  if (faults.find(Fault::Kind::rank_never_enters, rank) != nullptr)
    time.wait_until(
        call.lock,
        {[] { return false; },
         [&] { return std::string("nothing: it never enters ") + call.name + " (fault)"; }, true, true});
}

void Mpi::return_late(Call& call) {
  const Faults& faults = World::get().faults();
  if (!faults.any()) return;
  if (const Fault* fault = faults.find(Fault::Kind::rank_late, std::to_string(call.me.number)))
    Timeline::of_process().enter(call.lock, static_cast<double>(fault->number));
}

int Mpi::keep_text(const std::string& text) {
  const auto found = std::find(texts_.begin(), texts_.end(), text);
  const auto index = found - texts_.begin();
  if (found == texts_.end()) texts_.push_back(text);
  return kFirstError + static_cast<int>(index);
}

std::string Mpi::describe(int error) {
  const Lock lock(Timeline::of_process().mutex());
  if (error == 0) return "no error";
  const auto index = static_cast<std::size_t>(error - kFirstError);
  return index < texts_.size() ? texts_[index] : "there is no such error";
}

const Comm& Mpi::comm(const Call& call, BytewaysComm handle) {
  if (handle == kWorld) {
    std::vector<int>& members = comms_[kWorld].members;
    members.resize(static_cast<std::size_t>(std::max(1, Timeline::of_process().actors())));
    for (std::size_t k = 0; k < members.size(); ++k) members[k] = static_cast<int>(k);
  }
  const auto found = comms_.find(handle);
  if (found == comms_.end() || found->second.rank_of(call.me.number) < 0)
    throw Failure(Code::invalid, "there is no such communicator");
  return found->second;
}

BytewaysComm Mpi::part(BytewaysComm parent, std::uint64_t number, int color, std::vector<int> members) {
  const auto [found, is_new] = parts_.try_emplace({parent, number, color});
  if (is_new) {
    found->second = kWorld + parts_.size();
    comms_[found->second].members = std::move(members);
  }
  return found->second;
}

void Mpi::check(const Call& call, const void* data, std::uint64_t bytes) {
  const End end = call.transfers().bytes().end(data, bytes, call.me.place);
  if (!end.device) return;
  if (!call.transfers().model().mpi.gpu_aware)
    throw Failure(Code::not_supported, "this MPI takes no device memory");
  World::get().check(end.place);
}

std::shared_ptr<Request> Mpi::start_send(Call& call, const Route& route, const void* data,
                                         std::uint64_t bytes) {
  const Model& model = call.transfers().model();
  check(call, data, bytes);
  Timeline::of_process().enter(call.lock, model.mpi.send_ns);
  auto request = messages_.send(call.transfers(), route, call.me, data, bytes);
  if (bytes <= model.mpi.eager_bytes) wait(call, {request});
  return request;
}

void Mpi::publish(Call& call, const std::vector<Route>& routes, const void* data, std::uint64_t bytes) {
  check(call, data, bytes);
  Timeline::of_process().enter(call.lock, call.transfers().model().mpi.send_ns);
  wait(call, {messages_.publish(call.transfers(), routes, call.me, data, bytes)});
}

std::shared_ptr<Request> Mpi::start_receive(Call& call, const Route& route, void* data, std::uint64_t bytes) {
  const Model& model = call.transfers().model();
  check(call, data, bytes);
  Timeline::of_process().enter(call.lock, model.calls.clock_ns);
  return messages_.receive(call.transfers(), route, call.me, data, bytes);
}

void Mpi::start_one_sided(Call& call, BytewaysWindow window, int other, std::uint64_t offset, void* own,
                          std::uint64_t bytes, bool puts) {
  check(call, own, bytes);
  Timeline::of_process().enter(call.lock, call.transfers().model().mpi.send_ns);
  one_sided_.start(call.transfers(), one_sided_.window(window), call.me, other, offset, own, bytes, puts);
}

void Mpi::wait(Call& call, const std::vector<std::shared_ptr<Request>>& requests) {
  try {
    for (const auto& request : requests) {
      if (request->done) continue;
      const auto whom = [&] { return "rank " + std::to_string(request->peer) + " in " + call.name; };
      Timeline::of_process().wait_until(call.lock, {[&request] { return request->done; }, whom, true});
    }
  } catch (const Failure&) {
    for (const auto& request : requests) messages_.withdraw(request);
    throw;
  }
  for (const auto& request : requests)
    if (!request->error.empty()) throw Failure(Code::internal, request->error);
}

RequestHandle Mpi::keep(std::shared_ptr<Request> request) {
  requests_[++handles_] = std::move(request);
  return handles_;
}

std::shared_ptr<Request> Mpi::known(RequestHandle handle) const {
  const auto found = requests_.find(handle);
  if (found == requests_.end()) throw Failure(Code::invalid, "there is no such request");
  return found->second;
}

}  // namespace byteways::sim::mpi
