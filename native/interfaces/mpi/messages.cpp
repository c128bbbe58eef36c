// Interfaces `mpi` (messages in windows from rank 0 to rank 1, or both ways) and `mpi-ping-pong`.
#include <algorithm>

#include "interfaces/mpi/collectives.hpp"
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

// Every operation is one message each way. The receiver acknowledges a window of them; until then the sender
// starts no more.
class Messages final : public RankMover {
 public:
  Messages(Session& session, const Flow& flow)
      : RankMover(session, flow), window_(window_of(flow)), both_(flow.word("operation") == "bidirectional") {
    sends_ = rank() == 0 || both_;
    receives_ = rank() == 1 || both_;
    require_ends(sends_, receives_);
    traits_.bytes_per_operation = flow.size_bytes;
    traits_.least_batch = window_;
    note_evidence("windows of " + std::to_string(window_) + (window_ == 1 ? " message" : " messages") +
                  ", each acknowledged");
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    for (std::uint64_t done = 0; done < count; done += window_)
      exchange(first_operation + done, std::min(window_, count - done));
  }

 private:
  void exchange(std::uint64_t first, std::uint64_t count) {
    const int other = 1 - rank();
    const auto bytes = static_cast<std::int64_t>(flow_.size_bytes);
    Requests pending;
    for (std::uint64_t k = first; receives_ && k < first + count; ++k)
      ranks().start_receive(pending, destination_slot(k), bytes, kByte, other, kData);
    for (std::uint64_t k = first; sends_ && k < first + count; ++k)
      ranks().start_send(pending, source_slot(k), bytes, kByte, other, kData);
    ranks().wait(pending);
    std::byte word[8] = {};
    if (receives_) ranks().send(word, sizeof word, kByte, other, kAcknowledged);
    if (sends_) ranks().receive(word, sizeof word, kByte, other, kAcknowledged);
  }

  std::vector<Arrival> arrivals() const override {
    if (!receives_) return {};
    return {{0, flow_.size_bytes, 1 - rank(), 0, false}};
  }

  std::uint64_t window_;
  bool both_, sends_ = false, receives_ = false;
};

class PingPong final : public RankMover {
 public:
  PingPong(Session& session, const Flow& flow) : RankMover(session, flow) {
    require_ends(true, true);
    note_evidence("one message at a time, blocking send and receive");
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    const int other = 1 - rank();
    const auto bytes = static_cast<std::int64_t>(flow_.size_bytes);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k) {
      if (rank() == 0) ranks().send(source_slot(k), bytes, kByte, other, kData);
      ranks().receive(destination_slot(k), bytes, kByte, other, kData);
      if (rank() == 1) ranks().send(source_slot(k), bytes, kByte, other, kData);
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
