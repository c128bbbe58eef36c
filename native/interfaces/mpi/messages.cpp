// Interfaces `mpi` (messages in windows from rank 0 to rank 1, or both ways) and `mpi-ping-pong`.
#include <algorithm>

#include "interfaces/mpi/collectives.hpp"
#include "interfaces/mpi/staging.hpp"
#include "interfaces/rank_mover.hpp"
#include "interfaces/registry.hpp"

namespace byteways {
namespace {

constexpr int kData = 1, kAcknowledged = 2;  // tags
// As OSU's bandwidth tests have them; fewer where they would be more bytes than this, so that a batch of the
// largest messages still takes a fraction of a second.
constexpr std::uint64_t kWindow = 64;
constexpr std::uint64_t kMostBytesInFlight = 64 << 20;

std::uint64_t window_of(const Flow& flow) {
  const std::uint64_t fitting = std::max<std::uint64_t>(1, kMostBytesInFlight / flow.size_bytes);
  return flow.count("window", static_cast<unsigned>(std::min(kWindow, fitting)));
}

// Messages between two ranks. Those of device memory go to the library as they are, or through `staging`.
class MessageMover : public RankMover {
 protected:
  // For up to `messages` at once each way.
  MessageMover(Session& session, const Flow& flow, std::uint64_t messages, bool sends, bool receives,
               const std::string& how)
      : RankMover(session, flow) {
    require_ends(sends, receives);
    const bool staged = flow.word("staging", "library") == kPinnedStaging;
    note_evidence(how + (staged ? "; device memory is copied through page-locked host memory" : ""));
    if (!staged || executor().is_host()) return;
    if (sends) out_ = std::make_unique<Staging>(session, executor(), flow.size_bytes, messages);
    if (receives) in_ = std::make_unique<Staging>(session, executor(), flow.size_bytes, messages);
  }

  // What message k is sent from, and received into.
  std::byte* sent(std::uint64_t k) const { return out_ ? out_->filled(k, source_slot(k)) : source_slot(k); }
  std::byte* received(std::uint64_t k) const { return in_ ? in_->slot(k) : destination_slot(k); }
  // After messages [first, first + count) are there.
  void deliver(std::uint64_t first, std::uint64_t count) const {
    if (!in_) return;
    for (std::uint64_t k = first; k < first + count; ++k) in_->empty(k, destination_slot(k));
    in_->finish();
  }

 private:
  std::unique_ptr<Staging> out_, in_;
};

// Every operation is one message each way. The receiver acknowledges a window of them; until then the sender
// starts no more.
class Messages final : public MessageMover {
 public:
  Messages(Session& session, const Flow& flow)
      : MessageMover(session, flow, window_of(flow), sends(flow), receives(flow), windows(window_of(flow))),
        window_(window_of(flow)),
        sends_(sends(flow)),
        receives_(receives(flow)) {
    traits_.bytes_per_operation = flow.size_bytes;
    traits_.least_batch = window_;
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    for (std::uint64_t done = 0; done < count; done += window_)
      exchange(first_operation + done, std::min(window_, count - done));
  }

 private:
  static bool both(const Flow& flow) { return flow.word("operation") == "bidirectional"; }
  static bool is_rank(const Flow& flow, int rank) {
    return flow.ranks != nullptr && flow.ranks->rank() == rank;
  }
  static bool sends(const Flow& flow) { return is_rank(flow, 0) || both(flow); }
  static bool receives(const Flow& flow) { return is_rank(flow, 1) || both(flow); }
  static std::string windows(std::uint64_t messages) {
    return "windows of " + std::to_string(messages) + (messages == 1 ? " message" : " messages") +
           ", each acknowledged";
  }

  void exchange(std::uint64_t first, std::uint64_t count) {
    const int other = 1 - rank();
    const auto bytes = static_cast<std::int64_t>(flow_.size_bytes);
    Requests pending;
    for (std::uint64_t k = first; receives_ && k < first + count; ++k)
      ranks().start_receive(pending, received(k), bytes, kByte, other, kData);
    for (std::uint64_t k = first; sends_ && k < first + count; ++k)
      ranks().start_send(pending, sent(k), bytes, kByte, other, kData);
    ranks().wait(pending);
    deliver(first, count);
    std::byte word[8] = {};
    if (receives_) ranks().send(word, sizeof word, kByte, other, kAcknowledged);
    if (sends_) ranks().receive(word, sizeof word, kByte, other, kAcknowledged);
  }

  std::vector<Arrival> arrivals() const override {
    if (!receives_) return {};
    return {{0, flow_.size_bytes, 1 - rank(), 0, false}};
  }

  std::uint64_t window_;
  bool sends_, receives_;
};

class PingPong final : public MessageMover {
 public:
  PingPong(Session& session, const Flow& flow)
      : MessageMover(session, flow, 1, true, true, "one message at a time, blocking send and receive") {}

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    const int other = 1 - rank();
    const auto bytes = static_cast<std::int64_t>(flow_.size_bytes);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k) {
      if (rank() == 0) ranks().send(sent(k), bytes, kByte, other, kData);
      ranks().receive(received(k), bytes, kByte, other, kData);
      deliver(k, 1);
      if (rank() == 1) ranks().send(sent(k), bytes, kByte, other, kData);
    }
  }

 private:
  std::vector<Arrival> arrivals() const override { return {{0, flow_.size_bytes, 1 - rank(), 0, false}}; }
};

std::unique_ptr<Mover> make_mpi(Session& session, const Flow& flow) {
  const std::string operation = flow.word("operation");
  if (operation == "unidirectional" || operation == "bidirectional")
    return std::make_unique<Messages>(session, flow);
  return make_collective(session, flow, operation);
}

std::unique_ptr<Mover> make_barrier(Session& session, const Flow& flow) {
  return make_collective(session, flow, "barrier");
}

const RegisterInterface kMpi("mpi", make_mpi);
const RegisterInterface kBarrier("mpi-barrier", make_barrier);
const RegisterInterface kPingPong("mpi-ping-pong", make<PingPong>);

}  // namespace
}  // namespace byteways
