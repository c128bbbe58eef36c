// Interfaces `mpi-put` and `mpi-get`: rank 0's data gets into rank 1's memory by calls of one of them alone.
// The first half of MPI's own benchmark programs does the same (osu_put_bw, osu_get_latency …).
#include <algorithm>
#include <optional>

#include "interfaces/message_role.hpp"
#include "interfaces/mpi/ranks.hpp"
#include "interfaces/rank_mover.hpp"
#include "interfaces/registry.hpp"

namespace byteways {
namespace {

constexpr int kDone = 3;  // tag
// As of messages (messages.cpp).
constexpr std::uint64_t kPutsInFlight = 64, kMostBytesOfPuts = 64 << 20;

std::uint64_t transfers_of(const Flow& flow) {
  const std::uint64_t fitting = std::max<std::uint64_t>(1, kMostBytesOfPuts / flow.size_bytes);
  return flow.count("window", static_cast<unsigned>(std::min(kPutsInFlight, fitting)));
}

// Transfers are completed in groups: by a flush of the rank that calls, or by a fence of both. With flush,
// the other rank waits for a word after each batch, within MPI, as some libraries move bytes only while it
// calls.
class OneSided final : public RankMover {
 public:
  OneSided(Session& session, const Flow& flow)
      : RankMover(session, flow),
        role_(role_of(flow, false)),
        mpi_(require_mpi(flow)),
        puts_(flow.interface == "mpi-put"),
        calls_(puts_ ? role_.sends : role_.receives),
        exposes_(puts_ ? role_.receives : role_.sends),
        fences_(flow.word("sync") == "fence"),
        group_(transfers_of(flow)) {
    require_buffers(role_.sends, role_.receives);
    note_evidence(std::to_string(group_) + (puts_ ? " MPI_Put" : " MPI_Get") + " before each " +
                  (fences_ ? "MPI_Win_fence" : "MPI_Win_flush"));
    traits_.bytes_per_operation = flow.size_bytes;
    traits_.least_batch = group_;
    traits_.evidence.window_messages = group_;
  }

  void prepare(std::uint64_t key) override {
    if (!window_) open();
    RankMover::prepare(key);
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    if (fences_) window_->fence();
    for (std::uint64_t done = 0; done < count; done += group_) {
      if (calls_) transfer(first_operation + done, std::min(group_, count - done));
      if (fences_)
        window_->fence();
      else if (calls_)
        window_->flush(role_.other);
    }
    if (!fences_) tell_other();
  }

 private:
  // All ranks call it, with their buffers allocated.
  void open() {
    const RankSlots exposed = puts_ ? destination_slots() : source_slots();
    const std::uint64_t bytes =
        exposes_ ? (exposed.rotation - 1) * exposed.stride_bytes + flow_.size_bytes : 0;
    window_.emplace(mpi_, exposes_ ? exposed.first : nullptr, static_cast<std::int64_t>(bytes));
    if (!fences_) window_->lock_all();
  }

  void transfer(std::uint64_t first, std::uint64_t count) {
    const auto bytes = static_cast<std::int64_t>(flow_.size_bytes);
    const RankSlots own = puts_ ? source_slots() : destination_slots();
    SlotWalk slots(own, first);
    for (std::uint64_t k = 0; k < count; ++k) {
      std::byte* const slot = slots.next();
      const std::int64_t offset = slot - own.first;  // both ranks have as many slots
      if (puts_)
        window_->put(slot, bytes, role_.other, offset);
      else
        window_->get(slot, bytes, role_.other, offset);
    }
  }

  void tell_other() {
    std::byte mine{}, theirs{};
    if (exposes_) mpi_.start_receive(pending_, &theirs, 1, kByte, role_.other, kDone);
    if (calls_) mpi_.start_send(pending_, &mine, 1, kByte, role_.other, kDone);
    mpi_.wait(pending_);
    if (exposes_) window_->sync();
  }

  std::vector<Arrival> arrivals() const override {
    if (!role_.receives) return {};
    return {{0, flow_.size_bytes, role_.other, 0, false}};
  }

  const Role role_;
  const Communicator& mpi_;
  const bool puts_, calls_, exposes_, fences_;
  const std::uint64_t group_;
  std::optional<Window> window_;
  Requests pending_;
};

const RegisterInterface kPut("mpi-put", make<OneSided>);
const RegisterInterface kGet("mpi-get", make<OneSided>);

}  // namespace
}  // namespace byteways
