// See exchange.hpp.
#include "interfaces/exchange/exchange.hpp"

#include "interfaces/exchange/peer.hpp"
#include "interfaces/exchange/xccl.hpp"

namespace byteways {
namespace {

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
