// Messages written into the neighbours' memory, which this process has opened by IPC handles: by copies, or
// by the kernels that pack them. An MPI message signals completion.
#pragma once
#include <map>

#include "interfaces/exchange/mpi.hpp"

namespace byteways {

class PeerTransport final : public MpiTransport {
 public:
  enum class By { copies, kernels };
  // Opens the neighbours' memory. Collective; `obstacle` says afterwards why a rank could not, with its
  // number, on all ranks alike; empty: all could.
  PeerTransport(Session& session, const Flow& flow, By by, Buffer& messages,
                const std::vector<int>& neighbours, std::string& obstacle);
  ~PeerTransport() override;
  std::byte* packed_at(const Parcel& sent) const override;
  void exchange(const Parcels& parcels, Stream& stream) override;

 private:
  std::string open(Session& session, const Flow& flow, const std::vector<std::string>& told,
                   const std::vector<int>& neighbours);
  std::byte* place_of(const Parcel& sent) const { return opened_.at(sent.other)->data() + sent.place; }

  By by_;
  std::map<int, std::unique_ptr<Buffer>> opened_;  // memory of messages of each neighbour
};

}  // namespace byteways
