// Interface `copy`: the vendor's asynchronous copy call. What engine carries it out is the vendor's secret
// and has to be observed (timing/engine.hpp).
#include "movers/mover.hpp"

namespace byteways {
namespace {

class Copy final : public CopyingMover {
 public:
  Copy(Session& session, const Flow& flow) : CopyingMover(session, flow) {
    // Without peer access the driver stages the copy through the host: allowed, and observed as such.
    for (Buffer* buffer : {flow.source, flow.destination})
      if (!buffer->agent().is_host()) session.prove_peer(*flow.executor, buffer->agent());
  }

  std::uint64_t queue_entries(std::uint64_t count) const override { return count; }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
      executor().runtime->copy(destination_slot(k), source_slot(k), flow_.size_bytes, stream);
  }
};

}  // namespace

std::unique_ptr<Mover> make_copy(Session& session, const Flow& flow) {
  if (flow.executor->is_host())
    throw Unsupported("copy", "executor", "the vendor's copy call needs a GPU's queue",
                      flow.executor->name());
  return std::make_unique<Copy>(session, flow);
}

}  // namespace byteways
