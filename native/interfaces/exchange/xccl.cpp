// See xccl.hpp.
#include "interfaces/exchange/xccl.hpp"

#include <cstring>

#include "interfaces/xccl/xccl_mover.hpp"

namespace byteways {

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

}  // namespace byteways
