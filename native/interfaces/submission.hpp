// How the operations of a batch are submitted: one call each, one graph recorded in advance, or one batched
// call. Graphs and batched calls are prepared before the gate is shut.
#pragma once
#include <functional>
#include <memory>

#include "interfaces/copying_mover.hpp"

namespace byteways {

class Submission {
 public:
  // Enqueues operations [first, first + count) with one call each.
  using Calls = std::function<void(Stream&, std::uint64_t first, std::uint64_t count)>;

  // Throws Unsupported if the runtime does not have the requested submission.
  explicit Submission(const Flow& flow);
  bool graph() const { return word_ == "graph"; }
  bool batch() const { return word_ == "batch"; }
  // Why this submission cannot run concurrently with other flows: each time mark would need a batch of its
  // own, prepared while the queues are held. Empty if each operation is a call.
  std::string concurrency_obstacle() const;
  // Records the calls, unless the last recording has the same.
  void record(Device& executor, std::uint64_t first, std::uint64_t count, std::uint64_t rotation,
              const Calls& calls);
  // Launches the recording of these operations. Records them first if necessary.
  void launch(Device& executor, Stream& stream, std::uint64_t first, std::uint64_t count,
              std::uint64_t rotation, const Calls& calls);

 private:
  std::string word_;
  // Two recordings: the load generator keeps two batches in the queue (timing/load_generator.hpp), and HIP
  // does not define what happens when a running graph is destroyed.
  std::unique_ptr<Recording> recording_, before_;
  std::uint64_t first_ = 0, count_ = 0;  // operations of the recording; they repeat after a rotation
};

// Base of copies that support these kinds of submission.
class SubmittedMover : public CopyingMover {
 public:
  void make_ready(std::uint64_t first_operation, std::uint64_t count) override;
  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override;

 protected:
  // `batches`: whether a batched call exists for these operations.
  SubmittedMover(Session& session, const Flow& flow, bool batches, std::uint64_t granularity_bytes);
  // Enqueue operations [first, first + count): with one call each, or with one batched call.
  virtual void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) = 0;
  virtual void enqueue_batch(Stream&, std::uint64_t, std::uint64_t) {}

 private:
  Submission::Calls calls();
  Submission submission_;
};

}  // namespace byteways
