// Interface `copy`: the vendor's copy calls, the asynchronous one unless the option `call` asks for another.
// Vendors do not document which engine executes them, so it must be observed (timing/engine.hpp).
#include "interfaces/called_copies.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/submission.hpp"

namespace byteways {
namespace {

class Copy final : public SubmittedMover {
 public:
  Copy(Session& session, const Flow& flow) : SubmittedMover(session, flow, true, 1) {
    traits_.copy_rule = true;
    // Without peer access the driver stages the copy through the host: allowed, and reported as such.
    for (Buffer* buffer : {flow.source, flow.destination}) session.open_to(*flow.executor, *buffer);
  }

 private:
  void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) override {
    executor().runtime->copy_series({flow_.destination->data(), flow_.source->data(), flow_.size_bytes,
                                     slots_.count, slots_.stride_bytes, first, count},
                                    stream);
  }

  // Copies in one batch are unordered, so no slot may occur twice in it.
  void enqueue_batch(Stream& stream, std::uint64_t first, std::uint64_t count) override {
    std::vector<CopyPiece> pieces;
    for (std::uint64_t k = first; k < first + count; ++k) {
      pieces.push_back({destination_slot(k), source_slot(k), flow_.size_bytes});
      if (pieces.size() < slots_.count && k + 1 < first + count) continue;
      executor().runtime->capability<CopyBatches>()->copy(pieces, stream);
      pieces.clear();
    }
  }
};

// A copy by another call than the asynchronous one. A call that waits uses no stream of ours: the host's
// clock times it.
class CalledCopy final : public CopyingMover {
 public:
  CalledCopy(Session& session, const Flow& flow) : CopyingMover(session, flow, 1), call_(copy_call(flow)) {
    const Offer<CopyCalls>& calls = executor().runtime->capability<CopyCalls>();
    const Availability offered = calls ? calls.object->offers(call_) : calls.availability();
    if (!offered.available) throw Unsupported("copy", "call", offered.reason, executor().name());
    if (flow.word("submit", "calls") != "calls")
      throw Unsupported("copy", "submit", "graphs and batches take the asynchronous call", executor().name());
    calls_ = calls.object;
    for (Buffer* end : {flow.source, flow.destination}) {
      const bool on_gpu =
          is_device(end->allocation().memory()) && end->device().runtime == executor().runtime;
      if (names_gpus(call_) && !on_gpu)
        throw Unsupported("copy", "call", "a peer copy is between memories of GPUs", executor().name());
      session.open_to(executor(), *end);
    }
    traits_.copy_rule = true;
    if (!waits(call_)) return;
    const bool from_host = is_locked_host(*flow.source), to_host = is_locked_host(*flow.destination);
    settles_ = from_host == to_host;
    traits_.waits_in_call(names_gpus(call_) ? "peer" : "async");
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    calls_->copy(call_,
                 {flow_.destination->data(), flow_.source->data(), flow_.size_bytes, slots_.count,
                  slots_.stride_bytes, first_operation, count},
                 flow_.source->device().ordinal, flow_.destination->device().ordinal, stream);
    if (settles_) calls_->settle(executor().ordinal);
  }

 private:
  // Memory of the host that engines reach as it is: a call that waits does so until the copy has ended.
  static bool is_locked_host(const Buffer& end) {
    const Memory memory = end.allocation().memory();
    return !is_device(memory) && !is_managed(memory) && !is_plain(memory);
  }

  CopyCall call_;
  CopyCalls* calls_ = nullptr;
  bool settles_ = false;  // copies may go on when the last call has returned
};

// A copy on an engine that the flow selects. That call uses no stream, so it is waited for and timed by the
// host's clock.
class EngineCopy final : public CopyingMover {
 public:
  EngineCopy(Session& session, const Flow& flow) : CopyingMover(session, flow, 1) {
    if (flow.word("submit", "calls") != "calls") refuse("a copy on a chosen engine is a call of its own");
    const auto device = [&](const Buffer& buffer) {
      return buffer.device().is_host() ? -1 : buffer.device().ordinal;
    };
    const Memory from = flow.source->allocation().memory(), to = flow.destination->allocation().memory();
    ends_ = {device(*flow.source), device(*flow.destination), is_plain(from) || is_plain(to)};
    const Device& owner = (flow.source->device().is_host() ? flow.destination : flow.source)->device();
    if (flow.executor != &owner)
      refuse("the engines are those of " + owner.name() +
             ": of the source, or of the destination where the source is host memory");
    if (is_managed(from) || is_managed(to))
      refuse("managed pages may be elsewhere than the copy engine is told");
    require_access(session, flow);
    const Offer<EngineChoice>& choice = executor().runtime->capability<EngineChoice>();
    if (!choice) refuse(choice.reason);
    choice_ = choice.object;
    const CopyEngines offered = choice_->engines(ends_);
    if (offered.mask == 0) refuse(offered.reason);
    const std::int64_t engine = flow.number("copy_engine");
    if (engine > 31 || (offered.mask >> engine & 1) == 0)
      refuse("engine " + std::to_string(engine) + " is not offered for such a copy, which may ask for " +
             numbers(offered.mask));
    engine_ = static_cast<int>(engine);
    traits_.entries_per_operation = 0;
    traits_.entries_per_batch = 1;
    traits_.synchronous = true;
    traits_.concurrency_obstacle = "a copy on a chosen engine is waited for";
    traits_.engine = offered.rule.engine;
    traits_.engine_evidence = "engine " + std::to_string(engine_) +
                              " was asked for, which the runtime offers for such copies; by rule (" +
                              offered.rule.rule + ")";
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
      choice_->copy(destination_slot(k), source_slot(k), flow_.size_bytes, ends_, engine_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Unsupported("copy", "copy_engine", why, executor().name());
  }

  // Formats a bit mask as "1, 2, 3".
  static std::string numbers(std::uint32_t mask) {
    std::string text;
    for (int engine = 0; engine < 32; ++engine)
      if ((mask >> engine & 1) != 0) text += (text.empty() ? "" : ", ") + std::to_string(engine);
    return text;
  }

  CopyEnds ends_;
  EngineChoice* choice_ = nullptr;
  int engine_ = 0;
};

std::unique_ptr<Mover> make_copy(Session& session, const Flow& flow) {
  if (flow.executor->is_host())
    throw Unsupported("copy", "executor", "the vendor's copy call needs a GPU's queue",
                      flow.executor->name());
  if (flow.number("copy_engine", -1) >= 0) return make<EngineCopy>(session, flow);
  if (copy_call(flow) != CopyCall::async) return make<CalledCopy>(session, flow);
  return make<Copy>(session, flow);
}

const RegisterInterface kCopy("copy", make_copy, RegisterInterface::Engines::chosen);

}  // namespace
}  // namespace byteways
