// Keeps flows going for as long as somebody wants to watch the machine at it: nothing is timed here,
// operations are only counted.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "timing/flow_runner.hpp"

namespace byteways {

class LoadGenerator {
 public:
  // A slice of work takes about `slice_s`. `interference`: the flows were measured so (MeasureOptions).
  // Throws Unsupported for flows that cannot go on by themselves.
  LoadGenerator(Session& session, const std::vector<Flow>& flows, double slice_s, bool interference);
  LoadGenerator(const LoadGenerator&) = delete;
  LoadGenerator& operator=(const LoadGenerator&) = delete;
  ~LoadGenerator();

  // Every queue goes on, slice after slice, in a thread of its own until finish(): none waits for a slower
  // one, and whoever looks at the machine meanwhile may take as long as it likes. No other call may use the
  // flows' devices until then.
  void start();
  // Stops, waits for all that is enqueued, and throws what went wrong in a thread.
  void finish();
  // Operations of each flow that are done for certain; may be asked at any time.
  std::vector<std::uint64_t> operations() const;
  // Bytes that those moved, of all flows.
  double moved_bytes() const;

 private:
  struct ActiveFlow {
    FlowRunner runner;
    std::unique_ptr<Event> ends[2];  // of the slice in hand and of the one before
    std::uint64_t slice = 1;         // operations
    std::uint64_t enqueued = 0;
    std::unique_ptr<std::atomic<std::uint64_t>> done = std::make_unique<std::atomic<std::uint64_t>>(0);
  };
  // A stream and the flows that take turns in it.
  struct Queue {
    std::vector<ActiveFlow*> flows;
    std::uint64_t slices = 0;
    std::exception_ptr failure;
    std::thread thread;
  };
  static void enqueue_slice(ActiveFlow& flow);
  static void advance(Queue& queue);
  void run(Queue& queue) noexcept;
  void stop();

  std::vector<ActiveFlow> flows_;
  std::vector<Queue> queues_;  // point into flows_
  bool by_itself_;             // threads that wait for each other make time pass
  std::atomic<bool> stop_{false};
};

}  // namespace byteways
