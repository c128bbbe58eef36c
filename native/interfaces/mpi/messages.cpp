// Interfaces `mpi` (messages in windows from rank 0 to rank 1, both ways, or of several pairs at once) and
// `mpi-ping-pong`.
#include <algorithm>

#include "core/rounding.hpp"
#include "interfaces/message_role.hpp"
#include "interfaces/mpi/collectives.hpp"
#include "interfaces/mpi/ranks.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/rank_mover.hpp"
#include "interfaces/registry.hpp"

namespace byteways {
namespace {

// Messages of device memory through page-locked host memory, as a program sends them whose MPI takes none: a
// copy by the vendor's call before a send and after a receive, each waited for.
class Staging {
 public:
  // For up to `messages` at once. Throws OutOfMemory.
  Staging(Session& session, Device& gpu, std::uint64_t message_bytes, std::uint64_t messages);

  // Host memory that message k is sent from: `source` has been copied there.
  std::byte* filled(std::uint64_t k, const std::byte* source);
  // Host memory that message k is received into.
  std::byte* slot(std::uint64_t k) const;
  // Copies what has been received to `destination`; done when finish() returns.
  void empty(std::uint64_t k, std::byte* destination);
  void finish();

 private:
  Device* gpu_;
  std::uint64_t message_bytes_, messages_;
  std::unique_ptr<Buffer> memory_;
  std::unique_ptr<Stream> stream_;
};

// The word of the option `staging`.
constexpr const char* kPinnedStaging = "pinned";

Staging::Staging(Session& session, Device& gpu, std::uint64_t message_bytes, std::uint64_t messages)
    : gpu_(&gpu), message_bytes_(message_bytes), messages_(messages) {
  Device& host = session.host_beside(gpu);
  const std::uint64_t bytes = messages * round_up(message_bytes, kSlotAlignment);
  memory_ = session.allocate(host, Memory::pinned, bytes, host, &gpu);
  stream_ = gpu.runtime->create_stream(gpu.ordinal);
}

std::byte* Staging::slot(std::uint64_t k) const {
  return memory_->data() + k % messages_ * round_up(message_bytes_, kSlotAlignment);
}

std::byte* Staging::filled(std::uint64_t k, const std::byte* source) {
  gpu_->runtime->copy(slot(k), source, message_bytes_, *stream_);
  finish();
  return slot(k);
}

void Staging::empty(std::uint64_t k, std::byte* destination) {
  gpu_->runtime->copy(destination, slot(k), message_bytes_, *stream_);
}

void Staging::finish() { gpu_->runtime->synchronize(*stream_); }

constexpr int kData = 1, kAcknowledged = 2;  // tags
// As OSU's bandwidth tests have them; fewer where they would be more bytes than this, so that a batch of the
// largest messages still takes a fraction of a second.
constexpr std::uint64_t kWindow = 64;
constexpr std::uint64_t kMostBytesInFlight = 64 << 20;

// Bytes of an acknowledgement, ours and OSU's.
constexpr std::int64_t kWordBytes = 8, kOsuWordBytes = 4;

bool is_osu(const Flow& flow) { return flow.word("timing") == "osu"; }

std::uint64_t window_of(const Flow& flow) {
  if (is_osu(flow)) return flow.count("window", kWindow);
  const std::uint64_t fitting = std::max<std::uint64_t>(1, kMostBytesInFlight / flow.size_bytes);
  return flow.count("window", static_cast<unsigned>(std::min(kWindow, fitting)));
}

// Messages of device memory go to the library as they are, or through `staging`.
class MessageMover : public RankMover {
 protected:
  // For up to `messages` at once each way.
  MessageMover(Session& session, const Flow& flow, std::uint64_t messages, const std::string& how)
      : RankMover(session, flow),
        role_(role_of(flow, flow.interface == "mpi-ping-pong")),
        mpi_(require_mpi(flow)) {
    require_buffers(role_.sends, role_.receives);
    const bool staged = flow.word("staging", "library") == kPinnedStaging;
    note_evidence(how + (staged ? "; device memory is copied through page-locked host memory" : ""));
    if (!staged || executor().is_host()) return;
    if (role_.sends) out_ = std::make_unique<Staging>(session, executor(), flow.size_bytes, messages);
    if (role_.receives) in_ = std::make_unique<Staging>(session, executor(), flow.size_bytes, messages);
  }

  // Where messages are, one after the other: the data themselves, or what they are staged in.
  struct Memory {
    SlotWalk data;
    Staging* staging;
  };
  struct Sources : Memory {
    // Filled with message k.
    std::byte* next(std::uint64_t k) {
      std::byte* const slot = data.next();
      return staging == nullptr ? slot : staging->filled(k, slot);
    }
  };
  struct Targets : Memory {
    std::byte* next(std::uint64_t k) {
      std::byte* const slot = data.next();
      return staging == nullptr ? slot : staging->slot(k);
    }
  };
  Sources sources(std::uint64_t first) const { return {{{source_slots(), first}, out_.get()}}; }
  Targets targets(std::uint64_t first) const { return {{{destination_slots(), first}, in_.get()}}; }
  // After messages [first, first + count) are there.
  void deliver(std::uint64_t first, std::uint64_t count) const {
    if (!in_) return;
    for (std::uint64_t k = first; k < first + count; ++k) in_->empty(k, destination_slot(k));
    in_->finish();
  }

  const Role role_;
  const Communicator& mpi_;

 private:
  std::vector<Arrival> arrivals() const override {
    if (!role_.receives) return {};
    return {{0, flow_.size_bytes, role_.other, 0, false}};
  }

  std::unique_ptr<Staging> out_, in_;
};

std::string windows_of(std::uint64_t messages, bool acknowledged) {
  return "windows of " + std::to_string(messages) + (messages == 1 ? " message" : " messages") +
         (acknowledged ? ", each acknowledged" : "");
}

bool acknowledged(const Flow& flow) { return !is_osu(flow) || flow.word("operation") != "bidirectional"; }

// Every operation is one message each way. The receiver acknowledges a window of them; until then the sender
// starts no more. OSU's bidirectional program has no acknowledgement, and waits for what it sends and what it
// receives apart.
class Messages final : public MessageMover {
 public:
  Messages(Session& session, const Flow& flow)
      : MessageMover(session, flow, window_of(flow), windows_of(window_of(flow), acknowledged(flow))),
        window_(window_of(flow)),
        acknowledged_(acknowledged(flow)),
        word_bytes_(is_osu(flow) ? kOsuWordBytes : kWordBytes) {
    traits_.bytes_per_operation = flow.size_bytes;
    traits_.least_batch = traits_.loop.operations = window_;
    traits_.evidence.window_messages = window_;
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    for (std::uint64_t done = 0; done < count; done += window_)
      exchange(first_operation + done, std::min(window_, count - done));
  }

 private:
  void exchange(std::uint64_t first, std::uint64_t count) {
    Requests& sends = acknowledged_ ? pending_ : sends_;
    if (role_.receives) start_receives(first, count);
    if (role_.sends) start_sends(sends, first, count);
    if (!acknowledged_ && rank() == 0) mpi_.wait(sends);
    mpi_.wait(pending_);
    if (!acknowledged_ && rank() != 0) mpi_.wait(sends);
    deliver(first, count);
    if (acknowledged_) acknowledge();
  }

  void acknowledge() {
    std::byte mine[8] = {}, theirs[8];
    // MPI may let a send wait for its receive (MPI 4.1, 3.5). So a rank that does both receives first.
    const bool both = role_.receives && role_.sends;
    if (both) mpi_.start_receive(pending_, theirs, word_bytes_, kByte, role_.other, kAcknowledged);
    if (role_.receives) mpi_.send(mine, word_bytes_, kByte, role_.other, kAcknowledged);
    if (both)
      mpi_.wait(pending_);
    else if (role_.sends)
      mpi_.receive(theirs, word_bytes_, kByte, role_.other, kAcknowledged);
  }

  void start_receives(std::uint64_t first, std::uint64_t count) {
    const auto bytes = static_cast<std::int64_t>(flow_.size_bytes);
    Targets to = targets(first);
    for (std::uint64_t k = first; k < first + count; ++k)
      mpi_.start_receive(pending_, to.next(k), bytes, kByte, role_.other, kData);
  }
  void start_sends(Requests& sends, std::uint64_t first, std::uint64_t count) {
    const auto bytes = static_cast<std::int64_t>(flow_.size_bytes);
    Sources from = sources(first);
    for (std::uint64_t k = first; k < first + count; ++k)
      mpi_.start_send(sends, from.next(k), bytes, kByte, role_.other, kData);
  }

  std::uint64_t window_;
  bool acknowledged_;
  std::int64_t word_bytes_;   // of an acknowledgement
  Requests pending_, sends_;  // kept, so that windows allocate no memory; the second of OSU's program
};

class PingPong final : public MessageMover {
 public:
  PingPong(Session& session, const Flow& flow)
      : MessageMover(session, flow, 1, "one message at a time, blocking send and receive") {}

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    const auto bytes = static_cast<std::int64_t>(flow_.size_bytes);
    const bool begins = rank() == 0;
    Sources from = sources(first_operation);
    Targets to = targets(first_operation);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k) {
      if (begins) mpi_.send(from.next(k), bytes, kByte, role_.other, kData);
      mpi_.receive(to.next(k), bytes, kByte, role_.other, kData);
      deliver(k, 1);
      if (!begins) mpi_.send(from.next(k), bytes, kByte, role_.other, kData);
    }
  }
};

std::unique_ptr<Mover> make_mpi(Session& session, const Flow& flow) {
  const std::string operation = flow.word("operation");
  if (operation == "unidirectional" || operation == "bidirectional" || operation == "multi-pair")
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
