// See exchange.hpp.
#include "interfaces/exchange/exchange.hpp"

#include <cstring>

#include "interfaces/exchange/peer.hpp"
#include "interfaces/xccl/xccl_mover.hpp"

namespace byteways {
namespace {

// Messages by NCCL or RCCL; as `hybrid`, with MPI for the small ones.
class XcclTransport final : public Transport {
 public:
  // `hybrid`: messages of up to kSmallBytes, and sums, go by MPI. Throws Unsupported without a communicator.
  XcclTransport(Session& session, const Flow& flow, bool hybrid);
  void exchange(const Parcels& parcels, Stream& stream) override;
  std::uint64_t sum(std::uint64_t mine, Stream& stream) override;

  // Below it MPI's latency is lower than RCCL's on MI300A: schieffer2025, section 6.1 (observation 5)
  // and 7.1.
  static constexpr std::uint64_t kSmallBytes = 4096;

 private:
  XcclCommunicator* xccl_;
  Device* device_;
  std::unique_ptr<MpiTransport> small_;   // hybrid only
  std::unique_ptr<Buffer> words_, told_;  // for sums: on the GPU, and in page-locked host memory
};

XcclTransport::XcclTransport(Session& session, const Flow& flow, bool hybrid)
    : xccl_(&require_xccl(flow)), device_(flow.executor) {
  engine_ = hybrid ? "xccl + mpi" : "xccl";
  evidence_ = xccl_->library_name() + ": the messages of an exchange as one group" +
              (hybrid ? "; messages of up to 4 KiB and sums by MPI" : "");
  if (hybrid) {
    small_ = std::make_unique<MpiTransport>(session, flow);
    return;
  }
  Device& host = session.device("cpu0");
  words_ = session.allocate(*device_, Memory::device, 2 * kWord, *device_);
  told_ = session.allocate(host, Memory::pinned, 2 * kWord, host, device_);
}

void XcclTransport::exchange(const Parcels& parcels, Stream& stream) {
  Parcels small;
  const auto is_small = [&](const Parcel& each) { return small_ != nullptr && each.bytes <= kSmallBytes; };
  for (const Parcel& each : parcels.sent)
    if (is_small(each)) small.sent.push_back(each);
  for (const Parcel& each : parcels.received)
    if (is_small(each)) small.received.push_back(each);
  if (small.sent.size() + small.received.size() < parcels.sent.size() + parcels.received.size())
    xccl_->group([&] {
      for (const Parcel& each : parcels.sent)
        if (!is_small(each)) xccl_->send(each.data, each.bytes, xccl::kUnsigned8, each.other, stream);
      for (const Parcel& each : parcels.received)
        if (!is_small(each)) xccl_->receive(each.data, each.bytes, xccl::kUnsigned8, each.other, stream);
    });
  if (!small.sent.empty() || !small.received.empty()) small_->exchange(small, stream);
}

std::uint64_t XcclTransport::sum(std::uint64_t mine, Stream& stream) {
  if (small_) return small_->sum(mine, stream);
  Runtime& runtime = *device_->runtime;
  std::memcpy(told_->data(), &mine, kWord);
  runtime.copy(words_->data(), told_->data(), kWord, stream);
  xccl_->allreduce(words_->data(), words_->data() + kWord, 1, xccl::kUnsigned64, stream);
  runtime.copy(told_->data() + kWord, words_->data() + kWord, kWord, stream);
  runtime.synchronize(stream);
  std::uint64_t sum = 0;
  std::memcpy(&sum, told_->data() + kWord, kWord);
  return sum;
}

std::unique_ptr<Transport> make_alone(Session& session, const Flow& flow, Buffer& messages,
                                      const std::string& word) {
  if (word == transports::kMpi) return std::make_unique<MpiTransport>(session, flow);
  if (word == transports::kStaged) return std::make_unique<StagedTransport>(session, flow, messages);
  if (word == transports::kXccl || word == transports::kHybrid)
    return std::make_unique<XcclTransport>(session, flow, word == transports::kHybrid);
  throw Unsupported(flow.interface, "transport", "there is none called '" + word + "'");
}

// Says so in its evidence. Host memory needs no peer access.
class FallenBack final : public StagedTransport {
 public:
  FallenBack(Session& session, const Flow& flow, const Buffer& messages, const std::string& word,
             const std::string& why)
      : StagedTransport(session, flow, messages) {
    fallback_ = {word, transports::kStaged, why};
    evidence_ = word + " fell back to " + transports::kStaged + ": " + why + "; " + evidence_;
  }
};

}  // namespace

void agree_possible(const Flow& flow, const std::string& reason) {
  const std::vector<std::string> told = flow.ranks->gather_bytes(reason);
  for (std::size_t rank = 0; rank < told.size(); ++rank)
    if (!told[rank].empty())
      throw Unsupported(flow.interface, "ranks", "rank " + std::to_string(rank) + ": " + told[rank], {},
                        static_cast<int>(rank));
}

std::unique_ptr<Transport> make_transport(Session& session, const Flow& flow, Buffer& messages,
                                          const std::vector<int>& neighbours) {
  const std::string word = flow.word("transport", transports::kMpi);
  std::string reason;
  std::unique_ptr<Transport> made;
  const bool peers = word == transports::kCopies || word == transports::kKernels;
  try {
    require_mpi(flow);
    if (peers && flow.executor->is_host())
      throw Unsupported(flow.interface, "transport", word + " move memory of GPUs");
    if (!peers) made = make_alone(session, flow, messages, word);
  } catch (const Error& error) {
    reason = error.text();
  }
  agree_possible(flow, reason);
  if (!peers) return made;
  const auto by = word == transports::kCopies ? PeerTransport::By::copies : PeerTransport::By::kernels;
  auto opened = std::make_unique<PeerTransport>(session, flow, by, messages, neighbours, reason);
  if (reason.empty()) return opened;
  opened.reset();  // what some of the neighbours could open
  return std::make_unique<FallenBack>(session, flow, messages, word, reason);
}

}  // namespace byteways
