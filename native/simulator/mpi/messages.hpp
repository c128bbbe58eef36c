// Messages of the simulated MPI: which send meets which receive, and the steps from one to the other.
//
// Up to the eager threshold the sender copies into a buffer of the library and is done; the receiver copies
// out of it. Beyond it sender and receiver meet first (a control message each way); then the bytes take one
// copy: host to host by the receiver's core, GPU to GPU by the receiver's core if they are short and by its
// GPU if they are not, all others staged. Messages make progress by themselves, also while their ranks
// compute.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "simulator/mpi/transfers.hpp"

namespace byteways::sim::mpi {

// Of one end of a message.
struct Request {
  int owner = 0, peer = 0;  // ranks
  bool done = false;
  bool withdrawn = false;  // nobody waits any more: nothing may be read or written there
  std::string error = {};
};

// What a send and a receive must agree on. `context` tells communicators and their collectives apart.
struct Route {
  std::uint64_t context = 0, tag = 0;
  int source = 0, destination = 0;
  auto operator<=>(const Route&) const = default;
};

class Messages {
 public:
  std::shared_ptr<Request> send(Transfers& transfers, const Route& route, const Rank& sender,
                                const void* data, std::uint64_t bytes);
  std::shared_ptr<Request> receive(Transfers& transfers, const Route& route, const Rank& receiver, void* data,
                                   std::uint64_t bytes);
  // One eager message for the receivers of all routes, within a host: written once into memory that all of
  // them read.
  std::shared_ptr<Request> publish(Transfers& transfers, const std::vector<Route>& routes, const Rank& sender,
                                   const void* data, std::uint64_t bytes);
  // Takes back what has met nothing, and leaves the rest without effect.
  void withdraw(const std::shared_ptr<Request>& request);
  void withdraw_all(int rank);

 private:
  struct Message {
    Rank sender, receiver;
    End from, to;
    std::uint64_t bytes = 0, room = 0;
    std::shared_ptr<Request> sent, received;  // null until posted
    bool eager = false;
    bool arrived = false;  // at the receiver: the bytes, or the word that there are some
    bool begun = false;
    std::vector<std::byte> payload;  // in the library's buffer
  };
  using Entry = std::shared_ptr<Message>;

  // That wait for their other ends; those of one route in their order.
  using Waiting = std::multimap<Route, Entry>;

  // Whether the receiver opens the sender's buffer: both are memory of GPUs, and the settings do not exclude
  // it.
  static bool by_ipc(const Transfers& transfers, const Message& message);
  // … and its core copies, not its GPU.
  static bool by_ipc_of_core(const Transfers& transfers, const Message& message);
  static Entry meet(Waiting& others, Waiting& own, const Route& route);
  // Brings the bytes of an eager message into a buffer of the library, from where all of `messages` take them
  // …
  void fill(Transfers& transfers, const std::vector<Entry>& messages);
  // … once their receivers see that they are there.
  void tell(Transfers& transfers, const Entry& message);
  void proceed(Transfers& transfers, const Entry& message);  // when both ends are there
  void deliver_eager(Transfers& transfers, const Entry& message);
  void transfer(Transfers& transfers, const Entry& message);
  static void end(const Entry& message, const std::string& error = {});

  Waiting sends_, receives_;
};

}  // namespace byteways::sim::mpi
