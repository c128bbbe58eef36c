// Interfaces of UCX between two ranks, without the library that usually is on top of it: `ucx` (tagged
// messages in windows), `ucx-ping-pong`, `ucx-put` and `ucx-get`. They are cut as those of MPI
// (interfaces/mpi).
#include <algorithm>
#include <optional>

#include "interfaces/message_role.hpp"
#include "interfaces/rank_mover.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/ucx/ucx.hpp"

namespace byteways {
namespace {

constexpr std::uint32_t kMessage = 1, kWordTag = 2;  // kinds of tags
// As of messages of MPI (mpi/messages.cpp).
constexpr std::uint64_t kTransfersInFlight = 64, kMostBytesOfTransfers = 64 << 20;
constexpr std::size_t kWordOfUcxBytes = 8;  // of an acknowledgement

const UcxRank& require_ucx(const Flow& flow) {
  if (flow.ucx == nullptr) throw Unsupported(flow.interface, "library", "the ranks have no endpoints of UCX");
  return *flow.ucx;
}

std::uint64_t window_in(const Flow& flow) {
  const std::uint64_t fitting = std::max<std::uint64_t>(1, kMostBytesOfTransfers / flow.size_bytes);
  return flow.count("window", static_cast<unsigned>(std::min(kTransfersInFlight, fitting)));
}

class UcxMover : public RankMover {
 protected:
  UcxMover(Session& session, const Flow& flow, bool answers)
      : RankMover(session, flow), role_(role_of(flow, answers)), ucx_(require_ucx(flow)) {
    require_buffers(role_.sends, role_.receives);
    traits_.engine = "ucx";
  }
  void describe(const std::string& what) {
    const LibraryReport& report = ucx_.library().report();
    EvidenceFields& evidence = traits_.evidence;
    evidence.library = "UCX";
    evidence.library_version = report.version;
    evidence.transports = ucx_.transports(role_.other);
    std::string by;
    for (const std::string& transport : evidence.transports) by += (by.empty() ? " by " : ", ") + transport;
    note_evidence("UCX " + report.version + ": " + what + by);
  }
  // A word of one rank to the other, after which the other one sees what came before.
  void tell(bool tells, bool is_told) {
    std::byte mine[kWordOfUcxBytes] = {}, theirs[kWordOfUcxBytes];
    void* const coming = is_told ? ucx_.start_receive(theirs, sizeof theirs, role_.other, kWordTag) : nullptr;
    if (tells) ucx_.wait("ucp_tag_send_nbx", ucx_.start_send(mine, sizeof mine, role_.other, kWordTag));
    ucx_.wait("ucp_tag_recv_nbx", coming);
  }

  const Role role_;
  const UcxRank& ucx_;

 private:
  std::vector<Arrival> arrivals() const override {
    if (!role_.receives) return {};
    return {{0, flow_.size_bytes, role_.other, 0, false}};
  }
};

// Every operation is one message each way. The receiver acknowledges a window of them.
class UcxMessages final : public UcxMover {
 public:
  UcxMessages(Session& session, const Flow& flow)
      : UcxMover(session, flow, false), window_(window_in(flow)), sends_(window_), receives_(window_) {
    describe("tagged messages in windows of " + std::to_string(window_) + ", each acknowledged");
    traits_.bytes_per_operation = flow.size_bytes;
    traits_.least_batch = traits_.evidence.window_messages = window_;
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    for (std::uint64_t done = 0; done < count; done += window_)
      exchange(first_operation + done, std::min(window_, count - done));
  }

 private:
  void exchange(std::uint64_t first, std::uint64_t count) {
    SlotWalk from(source_slots(), first), to(destination_slots(), first);
    if (role_.receives)
      for (std::uint64_t k = 0; k < count; ++k)
        receives_[k] = ucx_.start_receive(to.next(), flow_.size_bytes, role_.other, kMessage);
    if (role_.sends)
      for (std::uint64_t k = 0; k < count; ++k)
        sends_[k] = ucx_.start_send(from.next(), flow_.size_bytes, role_.other, kMessage);
    for (std::uint64_t k = 0; role_.receives && k < count; ++k) ucx_.wait("ucp_tag_recv_nbx", receives_[k]);
    for (std::uint64_t k = 0; role_.sends && k < count; ++k) ucx_.wait("ucp_tag_send_nbx", sends_[k]);
    tell(role_.receives, role_.sends);
  }

  std::uint64_t window_;
  std::vector<void*> sends_, receives_;
};

class UcxPingPong final : public UcxMover {
 public:
  UcxPingPong(Session& session, const Flow& flow) : UcxMover(session, flow, true) {
    describe("one tagged message at a time");
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    SlotWalk from(source_slots(), first_operation), to(destination_slots(), first_operation);
    const bool begins = rank() == 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      if (begins) send(from.next());
      ucx_.wait("ucp_tag_recv_nbx", ucx_.start_receive(to.next(), flow_.size_bytes, role_.other, kMessage));
      if (!begins) send(from.next());
    }
  }

 private:
  void send(const std::byte* data) {
    ucx_.wait("ucp_tag_send_nbx", ucx_.start_send(data, flow_.size_bytes, role_.other, kMessage));
  }
};

// One rank moves the bytes by its calls, and completes them by a flush of its endpoint. The other one waits
// for a word after each batch, within UCX, as some transports move bytes only while it makes progress.
class UcxOneSided final : public UcxMover {
 public:
  UcxOneSided(Session& session, const Flow& flow)
      : UcxMover(session, flow, false),
        puts_(flow.interface == "ucx-put"),
        calls_(puts_ ? role_.sends : role_.receives),
        exposes_(puts_ ? role_.receives : role_.sends),
        group_(window_in(flow)) {
    describe(std::to_string(group_) + (puts_ ? " ucp_put_nbx" : " ucp_get_nbx") +
             " before each ucp_ep_flush_nbx");
    traits_.bytes_per_operation = flow.size_bytes;
    traits_.least_batch = traits_.evidence.window_messages = group_;
  }

  void prepare(std::uint64_t key) override {
    if (!memory_) {
      const RankSlots slots = exposes_ ? (puts_ ? destination_slots() : source_slots()) : RankSlots{};
      memory_.emplace(ucx_, ranks(), role_.other, slots.first,
                      (slots.rotation - 1) * slots.stride_bytes + flow_.size_bytes);
    }
    RankMover::prepare(key);
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    for (std::uint64_t done = 0; calls_ && done < count; done += group_) {
      transfer(first_operation + done, std::min(group_, count - done));
      ucx_.flush(role_.other);
    }
    tell(calls_, exposes_);
  }

 private:
  void transfer(std::uint64_t first, std::uint64_t count) {
    const RankSlots own = puts_ ? source_slots() : destination_slots();
    SlotWalk slots(own, first);
    for (std::uint64_t k = 0; k < count; ++k) {
      std::byte* const slot = slots.next();
      // Both ranks have as many slots.
      const std::uint64_t address = memory_->address() + static_cast<std::uint64_t>(slot - own.first);
      if (puts_)
        ucx_.put(slot, flow_.size_bytes, role_.other, address, memory_->key());
      else
        ucx_.get(slot, flow_.size_bytes, role_.other, address, memory_->key());
    }
  }

  bool puts_, calls_, exposes_;
  std::uint64_t group_;
  std::optional<UcxMemory> memory_;
};

const RegisterInterface kMessages("ucx", make<UcxMessages>), kPingPong("ucx-ping-pong", make<UcxPingPong>),
    kPut("ucx-put", make<UcxOneSided>), kGet("ucx-get", make<UcxOneSided>);

}  // namespace
}  // namespace byteways
