// How the operations of a batch are handed to the device: a call each, one graph that was recorded before, or
// one batched call. What is recorded or listed is made ready before the gate is shut.
#pragma once
#include <functional>
#include <memory>

#include "interfaces/copying_mover.hpp"

namespace byteways {

class Submission {
 public:
  // Enqueues operations [first, first + count) with a call each.
  using Calls = std::function<void(Stream&, std::uint64_t first, std::uint64_t count)>;

  // Throws Unsupported when the flow asks for what its runtime does not have.
  explicit Submission(const Flow& flow);
  bool graph() const { return word_ == "graph"; }
  bool batch() const { return word_ == "batch"; }
  // Why what is submitted so does not run beside other flows, whose marks would each be a batch of their own,
  // made ready while the queues are held; empty where each operation is a call.
  std::string concurrency_obstacle() const;
  // Records the calls, unless the same were recorded last.
  void record(Device& executor, std::uint64_t first, std::uint64_t count, std::uint64_t rotation,
              const Calls& calls);
  // Launches what record() recorded of these operations, recording it first if need be.
  void launch(Device& executor, Stream& stream, std::uint64_t first, std::uint64_t count,
              std::uint64_t rotation, const Calls& calls);

 private:
  std::string word_;
  // Whoever goes on without waiting has two batches in the queue (timing/load_generator.hpp), and HIP says
  // nothing of destroying a graph that runs.
  std::unique_ptr<Recording> recording_, before_;
  std::uint64_t first_ = 0, count_ = 0;  // of the recording; operations repeat after a rotation
};

// A copy whose operations a flow may ask to be submitted in any of these ways.
class SubmittedMover : public CopyingMover {
 public:
  void make_ready(std::uint64_t first_operation, std::uint64_t count) override;
  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override;

 protected:
  // `batches`: whether there is a call for a batch of such operations.
  SubmittedMover(Session& session, const Flow& flow, bool batches, std::uint64_t granularity_bytes);
  // Operations [first, first + count) with a call each; with one call.
  virtual void enqueue_calls(Stream& stream, std::uint64_t first, std::uint64_t count) = 0;
  virtual void enqueue_batch(Stream&, std::uint64_t, std::uint64_t) {}

 private:
  Submission::Calls calls();
  Submission submission_;
};

}  // namespace byteways
