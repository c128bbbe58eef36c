// Runs one flow: its mover, its queue, and what the warm-up learned about both. A single flow is timed batch
// by batch (single_sampler.hpp); concurrent flows share a common window (window.hpp).
#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "interfaces/mover.hpp"
#include "timing/gate.hpp"
#include "timing/team.hpp"
#include "timing/three_times.hpp"

namespace byteways {

// How completion of operations is detected, which decides the clock that times them.
enum class Completion {
  queued,         // operations run in a queue, which the gate can hold: timed by the queue's events
  awaited,        // the host waits for each operation before it enqueues the next: timed by the host's clock
  blocking_call,  // the call moves the bytes itself, or blocks while the queue is held: timed by the host's
                  // clock
  synchronous,    // the call does all the work and no queue is used: timed by the host's clock
};

inline constexpr std::uint64_t kTakenEntries = 3;  // of a queue: by the gate and two events

struct KnownFlow;

struct FlowRunner {
  FlowRunner() = default;
  FlowRunner(FlowRunner&&) = default;
  FlowRunner& operator=(FlowRunner&&) = delete;
  // Synchronises, so that pending operations end before their buffers are freed. After an exception they may
  // wait for a rank that is gone: then the communicators are abandoned first.
  ~FlowRunner();

  std::unique_ptr<Mover> mover;
  std::shared_ptr<Stream> stream;  // shared by flows with the same stream number
  std::unique_ptr<Event> begin, end;
  std::vector<std::unique_ptr<Event>> marks;
  Completion completion = Completion::queued;
  bool between_ranks = false;  // its operations need another rank
  // Evidence that the driver copies through a staging buffer, or blocks until its copy is done; empty: none.
  std::string staged;
  bool plain_end = false;            // the vendor's copy call, from or to memory that is not page-locked
  std::string unobservable;          // why the engine cannot be observed; empty: it can
  std::uint64_t next_operation = 0;  // operations are numbered consecutively, so that cold buffers rotate
  double first_ns = 0;               // host time of the very first operation, until it has ended
  double operation_ns = 0;           // time of one back-to-back operation, including the pause after it
  std::uint64_t pause_ns = 0;        // idle time of the queue after each operation
  PreparedKernel idle;               // kernel that idles the queue
  std::vector<XcclCommunicator*> communicators;  // of NCCL or RCCL, by which its ranks wait for each other
  int exceptions = std::uncaught_exceptions();   // when it was made
  std::shared_ptr<KnownFlow> known;  // from earlier warm-ups in this session; nullptr: nothing is kept

  Device& device() const { return mover->executor(); }
  Runtime& runtime() const { return *mover->executor().runtime; }
  bool timed_by_host() const { return completion != Completion::queued; }
  // Whether the host does the work, or calls of a library there that ranks make together. The first calls
  // after ranks have agreed on something are slower: measured with buffers on hosts, assumed with those of
  // GPUs.
  bool works_on_host() const {
    return device().is_host() || (between_ranks && completion == Completion::synchronous);
  }
  bool blocks() const {
    return completion == Completion::blocking_call || completion == Completion::synchronous;
  }
  // Enqueues the next `count` operations, each with its pause.
  void enqueue(std::uint64_t count);
  // Returns the queue entries that `count` operations use.
  std::uint64_t queue_entries(std::uint64_t count) const;
  // Returns the most operations that can be enqueued while the queue is held, beside `others` entries: 0 if
  // it has no room for a single one, which then cannot be held back.
  std::uint64_t most_held(std::uint64_t others) const;
};

// Returns a runner for each flow. Throws Unsupported if a flow cannot run, or cannot run concurrently with
// the others.
std::vector<FlowRunner> make_runners(Session& session, const std::vector<Flow>& flows);

// Sets Flow::sharing: the number of concurrent flows with the same executor.
void share_executors(std::vector<Flow>& flows);

struct MeasureOptions;

// Determines the kind of completion and the approximate time of one operation. Without a gate, calls that
// block on a held queue are not detected. A flow that blocks on one rank counts as blocking on all ranks.
// Runs nothing where an earlier warm-up of the session has found out.
void learn_flow(Session& session, FlowRunner& runner, Gate* gate, const MeasureOptions& options, Team& team);

}  // namespace byteways
