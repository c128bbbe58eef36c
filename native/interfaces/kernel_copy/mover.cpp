// Interfaces `kernel` and `kernel-bulk` on a GPU, `memcpy`, `memcpy-stream` and `memcpy-mt` on a CPU: a copy
// done by the executor's own loads and stores.
#include <algorithm>

#include "interfaces/arguments.hpp"
#include "interfaces/submission.hpp"

namespace byteways {
namespace {

// Defaults found on H200 (docs/reference/peers.md): loads and stores need most of the device to fill a link,
// bulk copies a few warps.
constexpr unsigned kThreads = 512;
constexpr unsigned kBlocksPerMultiprocessor = 4;
constexpr unsigned kBytesInFlightPerThread = 128;  // eight 16-byte loads
constexpr unsigned kBulkBlocks = 8;
constexpr unsigned kBulkChunkBytes = 16384;
constexpr unsigned kBulkStages = 13;  // of 16 KiB: what the shared memory of an H200's multiprocessor holds
constexpr unsigned kBulkThreads = 32;
constexpr unsigned kBulkBarrierBytes = 256;  // head of the dynamic shared memory
constexpr unsigned kBulkMostStages = 32;     // barriers of 8 bytes in that head
constexpr unsigned kBulkGrainBytes = 16;     // of one bulk instruction

struct Interface {
  const char* name;
  const char* kernel;
  bool host;
};
constexpr Interface kInterfaces[] = {
    {"kernel", "copy", false},     {"kernel-bulk", "copy_bulk", false},      {"memcpy", "memcpy", true},
    {"memcpy-mt", "memcpy", true}, {"memcpy-stream", "memcpy_stream", true},
};

class KernelCopy final : public SubmittedMover {
 public:
  KernelCopy(Session& session, const Flow& flow, const Interface& interface)
      : SubmittedMover(session, flow, false), interface_(interface) {
    require_access(session, flow);
    const Availability offered = executor().runtime->offers_kernel(executor().device, interface.kernel);
    if (!offered.available)
      throw Unsupported(flow.interface, "unavailable", offered.reason, executor().name());
    arguments_ = {flow.source->data(),
                  flow.destination->data(),
                  flow.size_bytes,
                  slots_.count,
                  slots_.stride_bytes,
                  slots_.count,
                  slots_.stride_bytes,
                  0,
                  1,
                  flow.count("chunk_bytes", kBulkChunkBytes),
                  flow.count("stages", kBulkStages, kBulkMostStages)};
    shape_ = choose_shape(flow);
    kernel_ = executor().runtime->prepare(executor().device, interface.kernel);
  }

  std::uint64_t queue_entries(std::uint64_t count) const override { return interface_.host ? 1 : count; }

  LaunchShape shape() const override { return shape_; }
  std::string engine() const override { return interface_.host ? "cpu" : "kernel"; }
  std::string engine_evidence() const override {
    return interface_.host ? "loads and stores of this process's own threads"
                           : "loads and stores of a kernel that this process launched";
  }

 private:
  void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) override {
    launch_operations(executor(), kernel_, shape_, arguments_, first, count, stream);
  }

  LaunchShape choose_shape(const Flow& flow) const {
    const std::string name = interface_.name;
    const auto processors = static_cast<unsigned>(std::max(1, executor().info.multiprocessors));
    if (interface_.host) {
      if (name != "memcpy-mt") return {1, 1, 0};
      return {flow.count("threads", processors, kMostTeam), 1, 0};
    }
    if (name == "kernel-bulk") return {flow.count("blocks", kBulkBlocks), kBulkThreads, bulk_shared_bytes()};
    const KernelInfo info = executor().runtime->kernel_info(executor().device, interface_.kernel);
    const unsigned threads = std::min(flow.count("threads", kThreads), info.max_threads);
    const std::uint64_t per_block = std::uint64_t{threads} * kBytesInFlightPerThread;
    const std::uint64_t useful = std::max<std::uint64_t>(1, (flow.size_bytes + per_block - 1) / per_block);
    const std::uint64_t room = std::uint64_t{processors} * kBlocksPerMultiprocessor / flow.sharing;
    const auto blocks = static_cast<unsigned>(std::min(useful, std::max<std::uint64_t>(1, room)));
    return {flow.count("blocks", blocks), threads, 0};
  }

  unsigned bulk_shared_bytes() const {
    const std::uint64_t chunk = arguments_.chunk_bytes, stages = arguments_.stages;
    if (chunk % kBulkGrainBytes != 0)
      throw Unsupported("kernel-bulk", "chunk_bytes",
                        std::to_string(chunk) + " is not a multiple of " + std::to_string(kBulkGrainBytes),
                        executor().name());
    const std::uint64_t shared = kBulkBarrierBytes + chunk * stages;
    const KernelInfo info = executor().runtime->kernel_info(executor().device, interface_.kernel);
    if (shared > info.max_shared_bytes)
      throw Unsupported("kernel-bulk", "shared memory",
                        std::to_string(stages) + " stages of " + std::to_string(chunk) + " bytes need " +
                            std::to_string(shared) + " bytes a block, the device has " +
                            std::to_string(info.max_shared_bytes),
                        executor().name());
    return static_cast<unsigned>(shared);
  }

  Interface interface_;
  PreparedKernel kernel_;
  CopyArguments arguments_{};
  LaunchShape shape_;
};

}  // namespace

std::unique_ptr<Mover> make_kernel_copy(Session& session, const Flow& flow) {
  for (const Interface& interface : kInterfaces) {
    if (flow.interface != interface.name) continue;
    if (interface.host != flow.executor->is_host())
      throw Unsupported(flow.interface, "executor",
                        interface.host ? "this interface runs on a CPU" : "this interface runs on a GPU",
                        flow.executor->name());
    return std::make_unique<KernelCopy>(session, flow, interface);
  }
  throw Unsupported("interface", "unknown", "there is no interface named '" + flow.interface + "'");
}

}  // namespace byteways
