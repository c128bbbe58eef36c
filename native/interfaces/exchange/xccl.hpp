// Messages by NCCL or RCCL; as `hybrid`, with MPI for the small ones.
#pragma once
#include "interfaces/exchange/mpi.hpp"

namespace byteways {

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

}  // namespace byteways
