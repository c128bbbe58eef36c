// What runs one flow: its mover, its queue, and what the warm-up found out about both. One flow alone is
// timed batch by batch (single_sampler.hpp); several run through a common window (window.hpp).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interfaces/mover.hpp"
#include "timing/gate.hpp"
#include "timing/team.hpp"
#include "timing/three_times.hpp"

namespace byteways {

// How the end of operations is seen, and so which clock times them.
enum class Completion {
  queued,         // operations run in a queue, which may be held behind the gate: the queue's events
  awaited,        // the host waits for each operation before it enqueues the next: the host's clock
  blocking_call,  // the call moves the bytes, or does not return while the queue is held: the host's clock
  synchronous,    // the call does all of the work and nothing is in a queue: the host's clock
};

struct FlowRunner {
  FlowRunner() = default;
  FlowRunner(FlowRunner&&) = default;
  FlowRunner& operator=(FlowRunner&&) = delete;
  // Synchronises, so that pending operations end before their buffers are freed, also after an exception.
  ~FlowRunner();

  std::unique_ptr<Mover> mover;
  std::shared_ptr<Stream> stream;  // one for all flows that were asked to share it
  std::unique_ptr<Event> begin, end;
  std::vector<std::unique_ptr<Event>> marks;
  Completion completion = Completion::queued;
  // Evidence that the driver copies through a buffer of its own, or waits for its copy; empty: there is none.
  std::string staged;
  bool plain_end = false;            // a vendor's copy from or to memory that is not page-locked
  std::string unobservable;          // why the engine cannot be observed; empty: it can
  std::uint64_t next_operation = 0;  // operations are numbered on, so that cold buffers rotate
  double operation_ns = 0;           // one of many back to back, with the pause after it
  std::uint64_t pause_ns = 0;        // the queue idles so long after each operation
  PreparedKernel idle;               // by this kernel

  Device& device() const { return mover->executor(); }
  Runtime& runtime() const { return *mover->executor().runtime; }
  bool timed_by_host() const { return completion != Completion::queued; }
  bool blocks() const {
    return completion == Completion::blocking_call || completion == Completion::synchronous;
  }
  // Enqueues the next `count` operations, each with its pause.
  void enqueue(std::uint64_t count);
  // Queue entries that `count` operations take.
  std::uint64_t queue_entries(std::uint64_t count) const;
};

// A runner for each flow. Throws Unsupported when a flow cannot run, or not beside the others.
std::vector<FlowRunner> make_runners(Session& session, const std::vector<Flow>& flows);

// Tells each of several concurrent flows how many of them share its executor.
void share_executors(std::vector<Flow>& flows);

struct MeasureOptions;

// Finds out how the end of operations is seen and about how long one takes. Without a gate, calls that block
// on a held queue are not noticed. A flow that blocks on one rank counts as blocking on all of them.
void learn_flow(Session& session, FlowRunner& runner, Gate* gate, const MeasureOptions& options, Team& team);

}  // namespace byteways
