// Interface `load`: the executor's own loads, without stores, from one buffer that holds the pattern. The sum
// of what was read since its last reset proves that every operation read every word.
#include <algorithm>

#include "interfaces/copying_mover.hpp"
#include "interfaces/host_sum.hpp"
#include "interfaces/load/arguments.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/pattern_xor.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kSumBytes = 4096;
static_assert(kHostSumWords * kWord <= kSumBytes && kHostSumStart == kPoison);

// The buffer is used as a copy's destination, so that its slots rotate.
Flow from_buffer(Flow flow) {
  if (flow.source != flow.destination)
    throw Unsupported("load", "buffers", "it reads one buffer", flow.executor->name());
  if (flow.size_bytes % kAccessBytes != 0)
    throw Unsupported("load", "size", "it reads multiples of 16 bytes", flow.executor->name());
  flow.source = nullptr;
  return flow;
}

class Load final : public CopyingMover {
 public:
  Load(Session& session, const Flow& flow) : CopyingMover(session, from_buffer(flow)) {
    require_access(session, flow);
    choice_ = grid();
    const Memory own = executor().is_host() ? Memory::pageable : Memory::device;
    sum_ = session.allocate(executor(), own, kSumBytes, executor());
    arguments_ = {.data = flow.destination->data(),
                  .bytes = flow.size_bytes,
                  .sum = reinterpret_cast<unsigned long long*>(sum_->data()),
                  .slots = slots_.count,
                  .stride = slots_.stride_bytes};
    set_payload(flow.size_bytes, 0);
    traits_.bytes_per_operation = flow.size_bytes;
    use_own_kernel(choice_.shape);
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    if (read_.count == 0) read_.first = first_operation;
    read_.count = first_operation + count - read_.first;
    launch_operations(executor(), choice_.kernel, traits_.shape, arguments_, first_operation, count, stream);
  }

  void prepare(std::uint64_t key) override {
    arguments_.key = key;
    Device& owner = flow_.destination->service_device();
    const std::uint64_t bytes = (slots_.count - 1) * slots_.stride_bytes + flow_.size_bytes;
    fill(*session_, owner, flow_.destination->data(), bytes / kWord, key);
    owner.runtime->synchronize(session_->service_stream(owner));
    spoil(0, 0);
  }

  void spoil(std::uint64_t, std::uint64_t) override {
    poison(*session_, executor(), sum_->data(), kHostSumWords, 1);
    executor().runtime->synchronize(session_->service_stream(executor()));
    read_ = {};
  }

  Verification verify(std::uint64_t, std::uint64_t) override {
    std::uint64_t wanted = kPoison;  // initial value of the sum
    for (std::uint64_t k = 0; k < std::min(read_.count, slots_.count); ++k)
      wanted += times_used(read_, slots_, k) * expected((read_.first + k) % slots_.count);
    return compare_word(*session_, executor(), sum_->data(), wanted, read_.count * flow_.size_bytes);
  }

  Verification spot_check(std::uint64_t first_operation, std::uint64_t count) override {
    return verify(first_operation, count);
  }

 private:
  // As measured on H100 (docs/reference/peers.md): larger blocks where the buffers exceed the L2.
  KernelChoice grid() const {
    const KernelForms forms{.tiled = "load", .resident = "load_resident", .stores = false, .host = "load"};
    return choose_kernel(flow_, forms, flow_.size_bytes / kAccessBytes, kTileAccesses,
                         flow_.size_bytes >= 64 << 20 ? kBlockThreads : kCoverThreads);
  }

  // What one operation adds to the sum.
  std::uint64_t expected(std::uint64_t slot) const {
    const std::uint64_t first = slot * slots_.stride_bytes / kWord, words = flow_.size_bytes / kWord;
    return executor().is_host() ? pattern_xor(arguments_.key, first, words)
                                : load_sum(arguments_.key, first, words);
  }

  KernelChoice choice_;
  LoadArguments arguments_{};
  std::unique_ptr<Buffer> sum_;
  Operations read_;  // since the sum was reset
};

const gpu::RegisterKernels<LoadArguments> kLoadKernels("interfaces/load/kernel.cu",
                                                       {"load", "load_resident"});
const RegisterInterface kLoad("load", make<Load>);

}  // namespace
}  // namespace byteways
