// Interface `store`: the executor's own stores, without loads, into one buffer that each operation fills with
// the pattern.
#include <algorithm>

#include "interfaces/copying_mover.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/store/arguments.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

// A copy from registers.
Flow into_buffer(Flow flow) {
  if (flow.source != flow.destination)
    throw Unsupported("store", "buffers", "it writes one buffer", flow.executor->name());
  if (flow.size_bytes % kAccessBytes != 0)
    throw Unsupported("store", "size", "it writes multiples of 16 bytes", flow.executor->name());
  flow.source = nullptr;
  return flow;
}

class Store final : public CopyingMover {
 public:
  Store(Session& session, const Flow& flow) : CopyingMover(session, into_buffer(flow)) {
    require_access(session, flow);
    choice_ = grid();
    arguments_ = {.data = flow.destination->data(),
                  .bytes = flow.size_bytes,
                  .fence = must_fence(executor(), flow.destination->device()) ? 1u : 0u,
                  .slots = slots_.count,
                  .stride = slots_.stride_bytes};
    set_payload(0, flow.size_bytes);
    use_own_kernel(choice_.shape);
  }

  void prepare(std::uint64_t key) override {
    arguments_.key = key;
    CopyingMover::prepare(key);
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    launch_operations(executor(), choice_.kernel, traits_.shape, arguments_, first_operation, count, stream);
  }

 private:
  void fill_sources(std::uint64_t) override {}

  // As measured on H100 (docs/reference/peers.md): from 1 MiB on tiles to other memory, large blocks in its
  // own.
  KernelChoice grid() const {
    const bool away = &flow_.destination->device() != &executor(), large = flow_.size_bytes >= 1 << 20;
    return choose_kernel(flow_, {"store", "store_tiled", "store_resident"}, flow_.size_bytes / kAccessBytes,
                         away && large ? kTileAccesses : 1, large && !away ? kBlockThreads : kCoverThreads);
  }

  KernelChoice choice_;
  StoreArguments arguments_{};
};

const gpu::RegisterKernels<StoreArguments> kStoreKernels("interfaces/store/kernel.cu",
                                                         {"store", "store_tiled", "store_resident"});
const RegisterInterface kStore("store", make<Store>);

}  // namespace
}  // namespace byteways
