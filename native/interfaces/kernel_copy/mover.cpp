// Interfaces `kernel` and `kernel-bulk` on a GPU, `memcpy`, `memcpy-stream` and `memcpy-mt` on a CPU: copies
// by the executor's own loads and stores.
#include <algorithm>

#include "interfaces/kernel_copy/arguments.hpp"
#include "interfaces/kernel_copy/bulk_shape.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/submission.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

class KernelCopy : public SubmittedMover {
 protected:
  // `on_host`: whether CPUs (not GPUs) execute the interface.
  KernelCopy(Session& session, const Flow& flow, bool on_host,
             std::uint64_t granularity_bytes = sizeof(std::uint64_t))
      : SubmittedMover(session, flow, false, granularity_bytes) {
    if (on_host != flow.executor->is_host())
      throw Unsupported(flow.interface, "executor",
                        on_host ? "this interface runs on a CPU" : "this interface runs on a GPU",
                        flow.executor->name());
    require_access(session, flow);
    arguments_ = {.source = flow.source->data(),
                  .destination = flow.destination->data(),
                  .bytes = flow.size_bytes,
                  .fence = must_fence(executor(), flow.destination->device()) ? 1u : 0u,
                  .source_slots = slots_.count,
                  .source_stride = slots_.stride_bytes,
                  .destination_slots = slots_.count,
                  .destination_stride = slots_.stride_bytes};
  }

  void use(const KernelChoice& choice) {
    kernel_ = choice.kernel;
    use_own_kernel(choice.shape);
  }

  CopyArguments arguments_{};

 private:
  void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) override {
    launch_operations(executor(), kernel_, traits_.shape, arguments_, first, count, stream);
  }

  PreparedKernel kernel_;
};

class HostCopy final : public KernelCopy {
 public:
  HostCopy(Session& session, const Flow& flow, const char* kernel, bool by_team,
           std::uint64_t granularity_bytes = sizeof(std::uint64_t))
      : KernelCopy(session, flow, true, granularity_bytes) {
    const auto cores = static_cast<unsigned>(std::max(1, executor().info.multiprocessors));
    use({require_kernel(flow, executor(), kernel),
         {by_team ? flow.count("threads", cores, kMostTeam) : 1, 1, 0}});
  }
};

// As measured on H100 (docs/reference/peers.md): tiles of several accesses a thread are faster from 1 MiB on,
// but within a GPU an access a thread is again where the buffers exceed the L2.
unsigned accesses_per_thread(const Flow& flow) {
  const bool local = &flow.source->device() == flow.executor && &flow.destination->device() == flow.executor;
  const bool tiled = flow.size_bytes >= 1 << 20 && (!local || flow.size_bytes <= 32 << 20);
  return tiled ? kTileAccesses : 1;
}

class GridCopy final : public KernelCopy {
 public:
  GridCopy(Session& session, const Flow& flow) : KernelCopy(session, flow, false) {
    const auto ends = reinterpret_cast<std::uintptr_t>(arguments_.source) |
                      reinterpret_cast<std::uintptr_t>(arguments_.destination) | slots_.stride_bytes |
                      flow.size_bytes;
    const bool whole = ends % kAccessBytes == 0;  // only copy_resident moves single bytes
    use(choose_kernel(
        flow, {whole ? "copy" : "copy_resident", whole ? "copy_tiled" : "copy_resident", "copy_resident"},
        flow.size_bytes / kAccessBytes, accesses_per_thread(flow)));
  }
};

class BulkCopy final : public KernelCopy {
 public:
  BulkCopy(Session& session, const Flow& flow) : KernelCopy(session, flow, false) {
    const PreparedKernel kernel = require_kernel(flow, executor(), "copy_bulk");
    const BulkShape shape = bulk_shape(flow, kernel.info, 1, flow.size_bytes);
    arguments_.chunk_bytes = shape.chunk_bytes;
    arguments_.chunks = shape.chunks;
    arguments_.stages = shape.stages;
    use({kernel, shape.launch});
  }
};

std::unique_ptr<Mover> make_memcpy(Session& session, const Flow& flow) {
  return std::make_unique<HostCopy>(session, flow, "memcpy", false, 1);
}
std::unique_ptr<Mover> make_memcpy_mt(Session& session, const Flow& flow) {
  return std::make_unique<HostCopy>(session, flow, "memcpy", true);
}
std::unique_ptr<Mover> make_memcpy_stream(Session& session, const Flow& flow) {
  return std::make_unique<HostCopy>(session, flow, "memcpy_stream", false);
}

const gpu::RegisterKernels<CopyArguments> kCopyKernel("interfaces/kernel_copy/kernel.cu",
                                                      {"copy", "copy_tiled", "copy_resident"});
const gpu::RegisterKernels<CopyArguments> kBulkKernel("interfaces/kernel_copy/bulk.cu", {"copy_bulk"},
                                                      gpu::Needs::bulk_copies);
const RegisterInterface kKernel("kernel", make<GridCopy>);
const RegisterInterface kKernelBulk("kernel-bulk", make<BulkCopy>);
const RegisterInterface kMemcpy("memcpy", make_memcpy);
const RegisterInterface kMemcpyMt("memcpy-mt", make_memcpy_mt);
const RegisterInterface kMemcpyStream("memcpy-stream", make_memcpy_stream);

}  // namespace
}  // namespace byteways
