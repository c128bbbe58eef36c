// Interface `compute`: arithmetic in registers on all multiprocessors or cores. It moves no bytes, so its
// slowdown by a concurrent transfer is not due to bandwidth.
#include <algorithm>

#include "interfaces/compute/arguments.hpp"
#include "interfaces/compute/ends.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

// Half of a multiprocessor's threads: enough to keep its units busy with four chains each, and another
// kernel's blocks still fit. With all threads, a copy kernel would have to wait for its turn.
constexpr unsigned kThreads = 512;
constexpr unsigned kBlocksPerMultiprocessor = 2;
constexpr unsigned kSteps = 8192;  // 0.2 to 0.4 ms on GPUs since 2020, 30 µs on a core

class Compute final : public Mover {
 public:
  Compute(Session& session, const Flow& flow) : Mover(*flow.executor), session_(&session), flow_(flow) {
    if (flow.source != flow.destination)
      throw Unsupported("compute", "buffers", "compute has one buffer, for its result");
    words_ = flow.size_bytes / sizeof(unsigned long long);
    if (words_ == 0 || flow.size_bytes > flow.source->bytes())
      throw Error("compute", "size", "the result does not fit its buffer");
    require_access(session, flow);
    kernel_ = require_kernel(flow, executor(), "compute");
    traits_.shape = choose_shape();
    const std::uint64_t items = std::uint64_t{traits_.shape.blocks} * traits_.shape.threads;
    written_ = std::min(words_, items);
    traits_.distinct_destination_bytes = written_ * sizeof(unsigned long long);
    moved_by_own("arithmetic of this process; no bytes are moved");
  }

  void enqueue(Stream& stream, std::uint64_t, std::uint64_t count) override {
    executor().runtime->launch_series(kernel_, traits_.shape, &arguments_, sizeof arguments_,
                                      {nullptr, 0, count}, stream);
  }

  void prepare(std::uint64_t key) override {
    // Seeds from 0.1 to 0.3 keep all chains between 0 and 1, where the map stays.
    const float seed = 0.1f + 0.2f * static_cast<float>(pattern_word(key, 0) >> 40) / (1 << 24);
    arguments_ = {reinterpret_cast<unsigned long long*>(flow_.source->data()), words_, key, {}, seed, kSteps};
    for (unsigned int odd : {0u, 1u}) arguments_.expected[odd] = compute_ends(seed, kSteps, odd);
    spoil(0, 1);
  }

  void spoil(std::uint64_t, std::uint64_t) override {
    Device& owner = flow_.source->service_device();
    poison(*session_, owner, flow_.source->data(), written_, 1);
    owner.runtime->synchronize(session_->service_stream(owner));
  }

  Verification verify(std::uint64_t, std::uint64_t) override {
    Verification verification;
    verification.checked_bytes = written_ * sizeof(unsigned long long);
    verification.note(
        check(*session_, flow_.source->service_device(), flow_.source->data(), written_, arguments_.key), 0);
    return verification;
  }

 private:
  LaunchShape choose_shape() const {
    const auto processors = static_cast<unsigned>(std::max(1, executor().info.multiprocessors));
    // Half of the cores: beside a team that uses all, the scheduler would determine a transfer's speed.
    if (executor().is_host()) return {flow_.count("threads", std::max(1u, processors / 2), kMostTeam), 1, 0};
    const KernelInfo info = executor().runtime->kernel_info(executor().ordinal, "compute");
    return {flow_.count("blocks", kBlocksPerMultiprocessor * processors),
            std::min(flow_.count("threads", kThreads), info.max_threads), 0};
  }

  Session* session_;
  Flow flow_;
  std::uint64_t words_ = 0, written_ = 0;
  PreparedKernel kernel_;
  ComputeArguments arguments_{};
};

const gpu::RegisterKernels<ComputeArguments> kComputeKernels("interfaces/compute/kernel.cu", {"compute"});
const RegisterInterface kCompute("compute", make<Compute>);

}  // namespace
}  // namespace byteways
