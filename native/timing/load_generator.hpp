// Keeps flows running while an energy counter or another sensor is read. Counts operations; times nothing.
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
  // A slice of work takes about `slice_s` seconds. `interference`: as in MeasureOptions. Throws Unsupported
  // for flows that cannot be pipelined.
  LoadGenerator(Session& session, const std::vector<Flow>& flows, double slice_s, bool interference);
  LoadGenerator(const LoadGenerator&) = delete;
  LoadGenerator& operator=(const LoadGenerator&) = delete;
  ~LoadGenerator();

  // Starts one thread per queue, which enqueues slice after slice until finish(). No queue waits for a slower
  // one, and readers of counters may take any time. No other call may use the devices of the flows until
  // finish().
  void start();
  // Stops, waits for all enqueued operations, and rethrows an exception of a thread.
  void finish();
  // Returns the number of completed operations per flow. May be called at any time.
  std::vector<std::uint64_t> operations() const;
  // Returns the bytes that these operations moved, summed over all flows.
  double moved_bytes() const;

 private:
  struct ActiveFlow {
    FlowRunner runner;
    std::unique_ptr<Event> ends[2];  // ends of the current and of the previous slice
    std::uint64_t slice = 1;         // operations
    std::uint64_t enqueued = 0;
    std::unique_ptr<std::atomic<std::uint64_t>> done = std::make_unique<std::atomic<std::uint64_t>>(0);
  };
  // A stream and the flows that share it.
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
  bool by_itself_;  // the clock advances while threads wait for each other (not so in virtual time)
  std::atomic<bool> stop_{false};
};

}  // namespace byteways
