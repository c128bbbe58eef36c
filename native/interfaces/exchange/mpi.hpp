// Messages by MPI: as they are, or through page-locked host memory.
#pragma once
#include "interfaces/exchange/exchange.hpp"
#include "interfaces/mpi/ranks.hpp"

namespace byteways {

// The sum of the ranks' words by MPI, in host memory: the small messages of every transport but xccl's own.
std::uint64_t sum_by_mpi(const Communicator& mpi, std::uint64_t mine);

// MPI is given the memory of messages itself.
class MpiTransport : public Transport {
 public:
  MpiTransport(const Session& session, const Flow& flow);
  void exchange(const Parcels& parcels, Stream& stream) override;
  std::uint64_t sum(std::uint64_t mine, Stream& stream) override;

 protected:
  // Exchanges messages whose memory is ready, and waits for all of them.
  void pass(const Parcels& parcels);
  Device& device() const { return *device_; }
  const Communicator& mpi() const { return *mpi_; }
  // Until what has been enqueued is done.
  void wait_for(Stream& stream) const;

 private:
  const Communicator* mpi_;
  Device* device_;
  bool inline_;
  Requests pending_;  // kept, so that exchanges allocate no memory
};

// Our copies before a send and after a receive, as codes do whose MPI takes no memory of GPUs.
class StagedTransport : public MpiTransport {
 public:
  // Throws Unsupported on a host, OutOfMemory.
  StagedTransport(Session& session, const Flow& flow, const Buffer& messages);
  void exchange(const Parcels& parcels, Stream& stream) override;

 private:
  std::byte* staged(const Parcel& parcel) const;

  const Buffer* messages_;
  std::unique_ptr<Buffer> memory_;
};

}  // namespace byteways
