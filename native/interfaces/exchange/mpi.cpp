// See mpi.hpp.
#include "interfaces/exchange/mpi.hpp"

namespace byteways {

std::uint64_t sum_by_mpi(const Communicator& mpi, std::uint64_t mine) {
  std::uint64_t sum = 0;
  mpi.allreduce(&mine, &sum, 1, kUnsigned64);
  return sum;
}

MpiTransport::MpiTransport(const Session& session, const Flow& flow)
    : mpi_(&require_mpi(flow)), device_(flow.executor), inline_(computes_inline(session, *flow.executor)) {
  engine_ = "mpi";
  evidence_ = "messages by MPI, non-blocking, waited for together";
}

void MpiTransport::pass(const Parcels& parcels) {
  for (const Parcel& each : parcels.received)
    mpi_->start_receive(pending_, each.data, static_cast<std::int64_t>(each.bytes), kByte, each.other,
                        each.tag);
  for (const Parcel& each : parcels.sent)
    mpi_->start_send(pending_, each.data, static_cast<std::int64_t>(each.bytes), kByte, each.other, each.tag);
  mpi_->wait(pending_);
}

void MpiTransport::exchange(const Parcels& parcels, Stream& stream) {
  wait_for(stream);  // what MPI sends has been packed
  pass(parcels);
}

std::uint64_t MpiTransport::sum(std::uint64_t mine, Stream& stream) {
  wait_for(stream);
  return sum_by_mpi(*mpi_, mine);
}

void MpiTransport::wait_for(Stream& stream) const {
  if (!inline_) device_->runtime->synchronize(stream);
}

StagedTransport::StagedTransport(Session& session, const Flow& flow, const Buffer& messages)
    : MpiTransport(session, flow), messages_(&messages) {
  if (device().is_host())
    throw Unsupported(flow.interface, "transport", "messages in host memory have nothing to stage");
  Device& host = session.host_beside(device());
  memory_ = session.allocate(host, Memory::pinned, messages.bytes(), host, &device());
  evidence_ += "; copied through page-locked host memory";
}

std::byte* StagedTransport::staged(const Parcel& parcel) const {
  return memory_->data() + (parcel.data - messages_->data());
}

void StagedTransport::exchange(const Parcels& parcels, Stream& stream) {
  Runtime& runtime = *device().runtime;
  Parcels on_host = parcels;
  for (Parcel& each : on_host.sent) {
    runtime.copy(staged(each), each.data, each.bytes, stream);
    each.data = staged(each);
  }
  for (Parcel& each : on_host.received) each.data = staged(each);
  runtime.synchronize(stream);
  pass(on_host);
  for (const Parcel& each : parcels.received) runtime.copy(each.data, staged(each), each.bytes, stream);
}

}  // namespace byteways
