// See messages.hpp.
#include "simulator/mpi/messages.hpp"

#include <algorithm>

namespace byteways::sim::mpi {
namespace {

// An end that the core of its rank reaches: host memory, all of it on an APU, and device memory that the
// library has mapped for short messages.
bool by_core(const Transfers& transfers, const End& end) {
  return !end.device || transfers.model().host_access || transfers.model().mpi.core_device_bytes_per_s > 0;
}

// A control message of one end to the other, one way.
double handshake_ns(const Transfers& transfers, const Request& end) {
  const double far_ns = transfers.between_hosts(end.owner, end.peer) ? transfers.network_ns(0) : 0;
  return transfers.model().mpi.handshake_ns + far_ns;
}

// What goes wrong while time passes is the message's failure, and not that of whoever made time pass.
template <class Step>
std::string attempt(Step step) {
  try {
    step();
    return {};
  } catch (const Failure& failure) {
    return failure.what();
  }
}

}  // namespace

Messages::Entry Messages::meet(Waiting& others, Waiting& own, const Route& route) {
  const auto found = others.lower_bound(route);  // the first of its route
  if (found == others.end() || found->first != route)
    return own.emplace(route, std::make_shared<Message>())->second;
  Entry message = std::move(found->second);
  others.erase(found);
  return message;
}

std::shared_ptr<Request> Messages::send(Transfers& transfers, const Route& route, const Rank& sender,
                                        const void* data, std::uint64_t bytes) {
  const End from = transfers.bytes().end(data, bytes, sender.place);
  const Entry message = meet(receives_, sends_, route);
  message->sender = sender;
  message->from = from;
  message->bytes = bytes;
  const LibrarySettings& settings = transfers.settings();
  const bool direct = from.device && settings.ipc && bytes >= settings.direct_from_bytes;
  message->eager = bytes <= transfers.model().mpi.eager_bytes && !direct;
  const auto request = message->sent = std::make_shared<Request>(Request{route.source, route.destination});
  if (message->eager) {
    fill(transfers, {message});
  } else {
    transfers.after(handshake_ns(transfers, *request), [this, &transfers, message] {
      message->arrived = true;
      proceed(transfers, message);
    });
  }
  return request;
}

std::shared_ptr<Request> Messages::receive(Transfers& transfers, const Route& route, const Rank& receiver,
                                           void* data, std::uint64_t bytes) {
  const End to = transfers.bytes().end(data, bytes, receiver.place);
  const Entry message = meet(sends_, receives_, route);
  message->receiver = receiver;
  message->to = to;
  message->room = bytes;
  const auto request = message->received =
      std::make_shared<Request>(Request{route.destination, route.source});
  proceed(transfers, message);
  return request;
}

bool Messages::by_ipc(const Transfers& transfers, const Message& message) {
  const LibrarySettings& settings = transfers.settings();
  const bool reached = message.to.device || transfers.model().host_access;  // by the receiver's GPU
  return message.from.device && reached && settings.ipc && message.bytes >= settings.ipc_from_bytes;
}

bool Messages::by_ipc_of_core(const Transfers& transfers, const Message& message) {
  return by_ipc(transfers, message) && message.bytes <= transfers.model().mpi.ipc_core_bytes;
}

std::shared_ptr<Request> Messages::publish(Transfers& transfers, const std::vector<Route>& routes,
                                           const Rank& sender, const void* data, std::uint64_t bytes) {
  const End from = transfers.bytes().end(data, bytes, sender.place);
  const auto request = std::make_shared<Request>(Request{sender.number, sender.number});
  std::vector<Entry> messages;
  for (const Route& route : routes) {
    const Entry& message = messages.emplace_back(meet(receives_, sends_, route));
    message->sender = sender;
    message->from = from;
    message->bytes = bytes;
    message->eager = true;
    message->sent = request;
  }
  fill(transfers, messages);
  return request;
}

void Messages::fill(Transfers& transfers, const std::vector<Entry>& messages) {
  const Message& first = *messages.front();
  const End buffer{nullptr, first.sender.place, false};
  const auto bytes = static_cast<double>(first.bytes);
  const auto filled = [this, &transfers, messages] {
    if (messages.front()->sent->withdrawn) return;
    const Message& one = *messages.front();
    const std::vector<std::byte> payload = transfers.bytes().read(one.from.data, one.bytes);
    one.sent->done = true;
    for (const Entry& message : messages) {
      message->payload = payload;
      tell(transfers, message);
    }
  };
  const std::string error = attempt([&] {
    if (by_core(transfers, first.from))
      transfers.by_core(first.sender, buffer, first.from, bytes, true, 0, filled);
    else
      transfers.by_gpu(first.sender, first.from.place, buffer, first.from, bytes, filled);
  });
  if (error.empty()) return;
  for (const Entry& message : messages) end(message, error);
}

void Messages::tell(Transfers& transfers, const Entry& message) {
  const auto arrive = [this, &transfers, message] {
    message->arrived = true;
    proceed(transfers, message);
  };
  if (transfers.between_hosts(message->sent->owner, message->sent->peer))
    transfers.after(transfers.network_ns(static_cast<double>(message->bytes)), arrive);
  else if (message->received)
    transfers.notify(message->sender, message->receiver, arrive);
  else  // the receiver looks for it when it has something to receive
    transfers.notify(message->sender, message->sender, arrive);
}

void Messages::proceed(Transfers& transfers, const Entry& message) {
  if (!message->arrived || !message->received || message->begun) return;
  message->begun = true;
  if (message->bytes > message->room)
    return end(message, "a message of " + std::to_string(message->bytes) + " bytes met a receive of " +
                            std::to_string(message->room));
  if (message->eager) return deliver_eager(transfers, message);
  const MpiModel& mpi = transfers.model().mpi;
  const bool opens = by_ipc(transfers, *message);
  double core_ns = mpi.receive_ns;
  if (opens) core_ns += transfers.registration_ns(message->receiver, message->from);
  if (by_ipc_of_core(transfers, *message)) core_ns += mpi.ipc_core_ns;
  transfers.by_core(message->receiver, message->to, message->to, 0, false, core_ns,
                    [this, &transfers, message] {
                      transfers.after(handshake_ns(transfers, *message->received),
                                      [this, &transfers, message] { transfer(transfers, message); });
                    });
}

void Messages::deliver_eager(Transfers& transfers, const Entry& message) {
  const End buffer{nullptr, message->sender.place, false};
  const auto bytes = static_cast<double>(message->bytes);
  const double receive_ns = transfers.model().mpi.receive_ns;
  const auto emptied = [&transfers, message] {
    if (!message->received->withdrawn) transfers.bytes().write(message->to.data, message->payload);
    end(message);
  };
  const std::string error = attempt([&] {
    if (by_core(transfers, message->to))
      return transfers.by_core(message->receiver, message->to, buffer, bytes, true, receive_ns, emptied);
    transfers.by_core(message->receiver, buffer, buffer, 0, false, receive_ns, [=, &transfers] {
      const std::string refused = attempt([&] {
        transfers.by_gpu(message->receiver, message->to.place, message->to, buffer, bytes, emptied);
      });
      if (!refused.empty()) end(message, refused);
    });
  });
  if (!error.empty()) end(message, error);
}

void Messages::transfer(Transfers& transfers, const Entry& message) {
  const End &from = message->from, &to = message->to;
  const bool peers = by_ipc(transfers, *message) && transfers.joined_by_links(from.place, to.place);
  const bool cores = (!from.device && !to.device) || transfers.model().host_access;
  const Place receiver{Place::Kind::gpu, to.place.index};  // on an APU also that of plain memory
  const Place executor = peers ? receiver : message->receiver.place;
  const auto moved = [&transfers, message, executor] {
    for (const auto& request : {message->sent, message->received})
      if (request->withdrawn)
        return end(message,
                   "the other end of the message, rank " + std::to_string(request->owner) + ", is gone");
    end(message, attempt([&] {
          transfers.bytes().copy(message->to.data, message->from.data, message->bytes, executor);
        }));
  };
  const auto bytes = static_cast<double>(message->bytes);
  const std::string error = attempt([&] {
    if (transfers.between_hosts(message->sent->owner, message->sent->peer))
      transfers.by_network(message->sender, to, from, bytes, moved);
    else if (peers && by_ipc_of_core(transfers, *message))
      transfers.after(0, moved);  // the core has copied, and paid
    else if (peers)
      transfers.by_gpu_waited_for(message->receiver, receiver, to, from, bytes, moved);
    else if (cores)
      transfers.by_core(message->receiver, to, from, bytes, true, 0, moved);
    else
      transfers.staged(message->sender, message->receiver, to, from, bytes, moved);
  });
  if (!error.empty()) end(message, error);
}

void Messages::end(const Entry& message, const std::string& error) {
  for (const auto& request : {message->sent, message->received}) {
    if (!request || request->done) continue;
    request->error = error;
    request->done = true;
  }
}

void Messages::withdraw(const std::shared_ptr<Request>& request) {
  request->withdrawn = true;
  for (Waiting* waiting : {&sends_, &receives_})
    std::erase_if(*waiting, [&](const auto& each) {
      const Message& message = *each.second;
      return (message.sent == request && !request->done) || message.received == request;
    });
}

void Messages::withdraw_all(int rank) {
  std::vector<std::shared_ptr<Request>> requests;
  for (const Waiting* waiting : {&sends_, &receives_})
    for (const auto& [route, message] : *waiting)
      for (const auto& request : {message->sent, message->received})
        if (request && request->owner == rank) requests.push_back(request);
  for (const auto& request : requests) withdraw(request);
}

}  // namespace byteways::sim::mpi
