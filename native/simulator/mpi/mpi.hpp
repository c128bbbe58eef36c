// The simulated MPI library: communicators, requests, what a fault makes of a call, and point-to-point calls.
// A process has one, which outlives the machine; its ranks are the actors of the timeline. What a message
// costs is in messages.hpp, collectives are in collectives.hpp, the functions of the table in
// api.cpp.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtimes/mpi/table.hpp"
#include "simulator/engine/timeline.hpp"
#include "simulator/mpi/messages.hpp"
#include "simulator/mpi/one_sided.hpp"

namespace byteways::sim::mpi {

struct Comm {
  std::vector<int> members;       // ranks of the world, in the order of their ranks here
  int rank_of(int member) const;  // -1: it is none
};

// Whether faults of ranks may hit a call, and whether it is one that all ranks of a communicator make.
enum class CallKind { local, message, collective };

// One call of a rank, under the mutex.
struct Call {
  Lock& lock;
  const char* name;  // "send", "allreduce"
  Rank me;
  BytewaysComm comm = 0;     // of a collective …
  std::uint64_t number = 0;  // … of which it is the rank's so many-th there

  // Those of the machine that is played now: it may be another one after each wait.
  static Transfers& transfers();
};

// A request as callers hold it; 0 is none.
using RequestHandle = std::uint64_t;
static_assert(sizeof(RequestHandle) <= kMostRequestBytes);

class Mpi {
 public:
  static Mpi& of_process();

  // Runs `body` as a call of this thread's rank. Answers 0, or the number of what was thrown, for describe().
  template <class Body>
  int run(const char* name, CallKind kind, BytewaysComm comm, Body body) noexcept;
  std::string describe(int error);

  static constexpr BytewaysComm kWorld = 1;
  // Throws Failure (invalid) for a communicator that is none, or that the rank is not in.
  const Comm& comm(const Call& call, BytewaysComm handle);
  int rank(const Call& call, BytewaysComm handle) { return comm(call, handle).rank_of(call.me.number); }
  // The part of a communicator that `members` are; the same for all of them.
  BytewaysComm part(BytewaysComm parent, std::uint64_t number, int color, std::vector<int> members);

  // `to` and `from` are ranks of the world. A send has paid its overhead; an eager one may use its buffer
  // again.
  std::shared_ptr<Request> start_send(Call& call, const Route& route, const void* data, std::uint64_t bytes);
  std::shared_ptr<Request> start_receive(Call& call, const Route& route, void* data, std::uint64_t bytes);
  // One write that the receivers of all routes read.
  void publish(Call& call, const std::vector<Route>& routes, const void* data, std::uint64_t bytes);
  // Throws the failure of the first that failed.
  void wait(Call& call, const std::vector<std::shared_ptr<Request>>& requests);

  OneSided& one_sided() { return one_sided_; }
  void start_one_sided(Call& call, BytewaysWindow window, int other, std::uint64_t offset, void* own,
                       std::uint64_t bytes, bool puts);

  RequestHandle keep(std::shared_ptr<Request> request);
  std::shared_ptr<Request> known(RequestHandle handle) const;
  void forget(RequestHandle handle) { requests_.erase(handle); }

 private:
  Mpi();
  void begin(Call& call, CallKind kind);
  void drop(int rank);  // its buffers are no longer its own
  void hit_by_faults(Call& call);
  static void return_late(Call& call);  // of a rank with that fault
  // Throws Failure for a buffer that is not whole, or of a GPU that is lost or not MPI's business.
  static void check(const Call& call, const void* data, std::uint64_t bytes);
  void forget_team();
  int keep_text(const std::string& text);

  std::uint64_t team_ = 0;  // of the timeline: what follows belongs to it
  Messages messages_;
  OneSided one_sided_;
  std::map<BytewaysComm, Comm> comms_;
  std::map<std::tuple<BytewaysComm, std::uint64_t, int>, BytewaysComm> parts_;
  std::map<std::pair<int, BytewaysComm>, std::uint64_t> collectives_;
  RequestHandle handles_ = 0;
  std::map<RequestHandle, std::shared_ptr<Request>> requests_;
  std::vector<std::string> texts_;
};

Rank rank_of_thread();  // which a process that is no rank has, too: the only one

template <class Body>
int Mpi::run(const char* name, CallKind kind, BytewaysComm comm, Body body) noexcept {
  std::string text;
  Lock lock(Timeline::of_process().mutex());
  try {
    Call call{lock, name, rank_of_thread(), comm};
    begin(call, kind);
    body(call);
    if (kind != CallKind::local) return_late(call);
    return 0;
  } catch (const Failure& failure) {
    text = failure.what();
  } catch (const std::exception& error) {
    text = error.what();
  }
  return keep_text(std::string(name) + ": " + text);
}

}  // namespace byteways::sim::mpi
