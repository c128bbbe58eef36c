// Interface `ping-pong`: a number goes from the executor to the partner and back. Each side writes its own
// word and polls the other's: the executor writes the source, the partner the destination. An operation is
// one round trip; all operations of a batch are one launch on either side.
#include <algorithm>
#include <atomic>

#include "interfaces/pattern.hpp"
#include "interfaces/ping_pong/arguments.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/scratch_page.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kNotDone = ~0ull;
constexpr std::uint64_t kLeastRounds = 500;
// Time limit of polling: far longer than any delay by the gate or a busy machine's scheduler, shorter than
// the limit for a hanging worker (measuring/conduct/conductor.py: at least 20 s).
constexpr std::uint64_t kPatienceNs = 10'000'000'000;

class PingPong final : public Mover {
 public:
  PingPong(Session& session, const Flow& flow) : Mover(*flow.executor), session_(&session), flow_(flow) {
    if (flow.partner == nullptr) throw Error("ping-pong", "partner", "nobody would answer");
    if (flow.source == flow.destination)
      throw Unsupported("ping-pong", "buffers", "each side needs its own buffer");
    if (flow.size_bytes != sizeof(std::uint64_t))
      throw Unsupported("ping-pong", "size", "one word of 8 bytes goes back and forth");
    if (std::min(flow.source->bytes(), flow.destination->bytes()) < sizeof(std::uint64_t))
      throw Error("ping-pong", "size", "a word does not fit its buffer");
    const std::int64_t core = flow.number("core", -1), other = flow.number("partner_core", -1);
    if (flow.partner == flow.executor && core >= 0 && core == other)
      throw Unsupported("ping-pong", "core", "a core does not wait for itself", executor().name());
    require_access(session, flow);
    Flow answering = flow;
    answering.executor = flow.partner;
    require_access(session, answering);
    kernel_ = require_kernel(flow, executor(), "ping_pong");
    answer_ = require_kernel(flow, *flow.partner, "ping_pong");
    done_ = &session.shared_scratch(executor()).executor_done;
    partner_done_ = &session.shared_scratch(*flow.partner).partner_done;
    partner_stream_ = create_stream_for(session, *flow.partner, other);
    traits_.entries_per_operation = 0;
    traits_.entries_per_batch = 1;
    traits_.least_batch = kLeastRounds;
    traits_.concurrency_obstacle = "it keeps two devices busy polling";
    traits_.can_pipeline = false;
    traits_.distinct_source_bytes = traits_.distinct_destination_bytes = flow.size_bytes;
    const bool both = executor().is_host() == flow.partner->is_host();
    traits_.engine = !both ? "cpu + kernel" : executor().is_host() ? "cpu" : "kernel";
    traits_.engine_evidence = "stores and loads of this process's own threads";
  }

  ~PingPong() override {
    try {
      flow_.partner->runtime->synchronize(*partner_stream_);  // it may still poll memory that will be freed
    } catch (const std::exception&) {                         // destructors never throw
    }
  }

  // The partner first: it waits for the executor, which may have to wait for the gate.
  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    if (rounds_ != 0) require_answers();
    rounds_ = count;
    for (unsigned long long* done : {done_, partner_done_}) std::atomic_ref(*done).store(kNotDone);
    auto* ours = reinterpret_cast<unsigned long long*>(flow_.source->data());
    auto* theirs = reinterpret_cast<unsigned long long*>(flow_.destination->data());
    launch(*flow_.partner, answer_, *partner_stream_,
           {theirs, ours, first_operation, count, kPatienceNs, 0, partner_done_});
    launch(executor(), kernel_, stream, {ours, theirs, first_operation, count, kPatienceNs, 1, done_});
  }

  void prepare(std::uint64_t) override { spoil(0, 0); }

  // Sets flags that are not the number of any round.
  void spoil(std::uint64_t, std::uint64_t) override {
    if (rounds_ != 0) require_answers();
    for (Buffer* flag : {flow_.source, flow_.destination}) {
      poison(*session_, flag->device(), flag->data(), 1, 1);
      flag->device().runtime->synchronize(session_->service_stream(flag->device()));
    }
  }

  // Both sides completed every round, and both flags hold the last round's number.
  Verification verify(std::uint64_t first_operation, std::uint64_t count) override {
    require_answers();
    std::uint64_t checked_bytes = 0;
    const auto look = [&](Buffer* flag) {
      checked_bytes += sizeof(std::uint64_t);
      return compare_word(*session_, flag->device(), flag->data(), first_operation + count, checked_bytes);
    };
    const Verification own = look(flow_.source);
    return own.ok ? look(flow_.destination) : own;
  }

 private:
  static void launch(Device& side, const PreparedKernel& kernel, Stream& stream,
                     const PingPongArguments& arguments) {
    side.runtime->launch(side.ordinal, kernel, {1, 1, 0}, &arguments, sizeof arguments, stream);
  }

  // Call after the executor's side of a batch has ended. Throws Error if a side gave up.
  void require_answers() const {
    flow_.partner->runtime->synchronize(*partner_stream_);
    const std::uint64_t done = std::atomic_ref(*done_).load();
    const std::uint64_t answered = std::atomic_ref(*partner_done_).load();
    if (done == rounds_ && answered == rounds_) return;
    const bool ran = done != kNotDone;
    throw Error("ping-pong", "no answer",
                ran ? "round " + std::to_string(done + 1) + " of " + std::to_string(rounds_) +
                          " was not answered by " + flow_.partner->name() + " in " +
                          std::to_string(kPatienceNs / 1'000'000'000) +
                          " s: stores of one side do not reach the other while both run"
                    : "the kernel of " + executor().name() + " did not end",
                executor().name());
  }

  Session* session_;
  Flow flow_;
  PreparedKernel kernel_, answer_;
  std::unique_ptr<Stream> partner_stream_;
  unsigned long long *done_ = nullptr, *partner_done_ = nullptr;
  std::uint64_t rounds_ = 0;  // of the latest batch
};

const gpu::RegisterKernels<PingPongArguments> kPingPongKernels("interfaces/ping_pong/kernel.cu",
                                                               {"ping_pong"});
const RegisterInterface kPingPong("ping-pong", make<PingPong>);

}  // namespace
}  // namespace byteways
