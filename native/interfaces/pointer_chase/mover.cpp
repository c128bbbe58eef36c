// Interface `pointer-chase`: one thread follows a random cycle through every line of the working set. Each
// step waits for the previous one, so the time per step is the load latency. Each batch continues where the
// last one ended: a restarted chase would find lines that are still cached.
#include <algorithm>

#include "interfaces/pattern.hpp"
#include "interfaces/pointer_chase/arguments.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/scratch_page.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kHostLineBytes = 64;
constexpr std::uint64_t kDeviceLineBytes = 128;
constexpr std::uint64_t kLeastSteps = 5000;  // 20 samples give the 10^5 steps that a result needs
// On a host a working set that may be as large as a core's own cache is walked once round by every batch.
// What runs between batches evicts some of it, which a chase finds once: the slope of two chases is free of
// it then. With 5000 steps 1 MiB took 9 instead of 6 ns a step in an L2 cache of 1 MiB (AMD EPYC,
// 2026-11-26).
constexpr std::uint64_t kMostLinesOfOneCore = 1u << 16;
constexpr std::uint64_t kMostWarmedLines =
    1u << 18;  // 32 MiB on a GPU: a working set that may fit into a cache is walked once

class Chase final : public Mover {
 public:
  Chase(Session& session, const Flow& flow) : Mover(*flow.executor), session_(&session), flow_(flow) {
    const std::uint64_t line_bytes = executor().is_host() ? kHostLineBytes : kDeviceLineBytes;
    lines_ = flow.size_bytes / line_bytes;
    if (flow.source != flow.destination)
      throw Unsupported("pointer-chase", "buffers", "a chase walks one buffer");
    if (lines_ == 0 || (lines_ & (lines_ - 1)) != 0 || flow.size_bytes % line_bytes != 0)
      throw Unsupported("pointer-chase", "size",
                        "the working set of a chase is a power of two of at least " +
                            std::to_string(line_bytes) + " bytes");
    if (flow.size_bytes > flow.source->bytes())
      throw Error("pointer-chase", "size", "the working set is larger than its buffer");
    require_access(session, flow);
    const std::string loads = flow.word("loads", "system");
    if (loads != "system" && loads != "ordinary")
      throw Unsupported("pointer-chase", "loads", "no loads are named '" + loads + "'", executor().name());
    // A CPU has one kind of load, and its caches are coherent: no other kernel.
    const bool other = loads == "ordinary" && !executor().is_host();
    chase_ = require_kernel(flow, executor(), other ? "chase_ordinary" : "chase");
    traits_.evidence.own_caches = other;
    require_kernel(flow, flow.source->service_device(), "chase_build");
    arguments_ = {flow.source->data(), lines_, line_bytes, 0, 0, 0, nullptr};
    traits_.walks = true;
    traits_.entries_per_operation = 0;
    traits_.entries_per_batch = 1;
    traits_.rotation = lines_;
    traits_.least_batch = kLeastSteps;
    if (executor().is_host() && lines_ <= kMostLinesOfOneCore)
      traits_.least_batch = std::max(kLeastSteps, lines_);
    traits_.distinct_source_bytes = traits_.distinct_destination_bytes = flow.size_bytes;
    moved_by_own("dependent loads of one thread of this process");
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    arguments_.start = chase_line(first_operation % lines_, lines_, arguments_.key);
    arguments_.steps = count;
    arguments_.end = &session_->own_scratch(executor()).chase_end;
    executor().runtime->launch(executor().ordinal, chase_, {1, 1, 0}, &arguments_, sizeof arguments_, stream);
  }

  void prepare(std::uint64_t key) override {
    Device& owner = flow_.source->service_device();
    arguments_.key = key;
    owner.runtime->launch(owner.ordinal, owner.runtime->prepare(owner.ordinal, "chase_build"),
                          full_shape(owner, "chase_build", lines_), &arguments_, sizeof arguments_,
                          session_->service_stream(owner));
    owner.runtime->synchronize(session_->service_stream(owner));
    // A larger set is not warmed: its first lines would be cached and later ones not.
    if (lines_ > kMostWarmedLines) return;
    Stream& stream = session_->service_stream(executor());
    enqueue(stream, 0, lines_);
    executor().runtime->synchronize(stream);
  }

  // Otherwise the previous end word would be accepted if the chase goes round the cycle a whole number of
  // times.
  void spoil(std::uint64_t, std::uint64_t) override {
    poison(*session_, executor(), &session_->own_scratch(executor()).chase_end, 1, 1);
    executor().runtime->synchronize(session_->service_stream(executor()));
  }

  Verification verify(std::uint64_t first_operation, std::uint64_t count) override {
    return compare_word(*session_, executor(), &session_->own_scratch(executor()).chase_end,
                        chase_line((first_operation + count) % lines_, lines_, arguments_.key),
                        count * arguments_.line_bytes);
  }

 private:
  Session* session_;
  Flow flow_;
  std::uint64_t lines_ = 0;
  PreparedKernel chase_;
  ChaseArguments arguments_{};
};

const gpu::RegisterKernels<ChaseArguments> kChaseKernels("interfaces/pointer_chase/kernel.cu",
                                                         {"chase_build", "chase", "chase_ordinary"});
const RegisterInterface kPointerChase("pointer-chase", make<Chase>);

}  // namespace
}  // namespace byteways
