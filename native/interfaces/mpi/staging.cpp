// See staging.hpp.
#include "interfaces/mpi/staging.hpp"

#include "core/rounding.hpp"
#include "interfaces/host_beside.hpp"
#include "interfaces/pattern.hpp"

namespace byteways {

Staging::Staging(Session& session, Device& gpu, std::uint64_t message_bytes, std::uint64_t messages)
    : gpu_(&gpu), message_bytes_(message_bytes), messages_(messages) {
  Device& host = host_beside(session, gpu);
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

}  // namespace byteways
