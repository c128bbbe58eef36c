// See submission.hpp.
#include "interfaces/submission.hpp"

#include <utility>

namespace byteways {

Submission::Submission(const Flow& flow) : word_(flow.word("submit", "calls")) {
  if (word_ == "calls") return;
  const Runtime& runtime = *flow.executor->runtime;
  const Availability offered = graph()   ? runtime.capability<Graphs>().availability()
                               : batch() ? runtime.capability<CopyBatches>().availability()
                                         : Availability{false, "this runtime submits nothing as a " + word_};
  if (!offered.available) throw Unsupported(flow.interface, "submit", offered.reason, flow.executor->name());
  for (const Buffer* buffer : {flow.source, flow.destination})
    if (buffer != nullptr && is_plain(buffer->allocation().memory()))
      throw Unsupported(flow.interface, "submit",
                        "what is recorded or batched needs memory that stays locked, and " +
                            std::string(memory_name(buffer->allocation().memory())) + " is not",
                        flow.executor->name());
}

std::string Submission::concurrency_obstacle() const {
  return word_ == "calls" ? std::string() : "a " + word_ + " covers one flow";
}

void Submission::record(Device& executor, std::uint64_t first, std::uint64_t count, std::uint64_t rotation,
                        const Calls& calls) {
  first %= rotation;
  if (recording_ != nullptr && first == first_ && count == count_) return;
  before_ = std::move(recording_);  // may still run; the one before it has ended
  recording_ = executor.runtime->capability<Graphs>()->record(
      executor.ordinal, [&](Stream& stream) { calls(stream, first, count); });
  first_ = first;
  count_ = count;
}

void Submission::launch(Device& executor, Stream& stream, std::uint64_t first, std::uint64_t count,
                        std::uint64_t rotation, const Calls& calls) {
  record(executor, first, count, rotation, calls);
  executor.runtime->capability<Graphs>()->launch(*recording_, stream);
}

SubmittedMover::SubmittedMover(Session& session, const Flow& flow, bool batches,
                               std::uint64_t granularity_bytes)
    : CopyingMover(session, flow, granularity_bytes), submission_(flow) {
  traits_.concurrency_obstacle = submission_.concurrency_obstacle();
  if (submission_.batch() && !batches)
    throw Unsupported(flow.interface, "submit", "a batched call is of copies, not of kernels",
                      executor().name());
}

Submission::Calls SubmittedMover::calls() {
  return [this](Stream& stream, std::uint64_t first, std::uint64_t count) {
    enqueue_calls(stream, first, count);
  };
}

void SubmittedMover::make_ready(std::uint64_t first_operation, std::uint64_t count) {
  if (submission_.graph()) submission_.record(executor(), first_operation, count, slots_.count, calls());
}

void SubmittedMover::enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) {
  moves(first_operation, count);
  if (submission_.graph())
    submission_.launch(executor(), stream, first_operation, count, slots_.count, calls());
  else if (submission_.batch())
    enqueue_batch(stream, first_operation, count);
  else
    enqueue_calls(stream, first_operation, count);
}

}  // namespace byteways
