// A host stream is a thread that executes its tasks in order. An event is the time at which the thread
// reached it.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "runtimes/host.hpp"
#include "runtimes/host/cpu_domains.hpp"
#include "runtimes/host/team.hpp"

namespace byteways {

// Completion of one record(). Waiting threads share ownership, so that the event can be recorded again
// meanwhile.
struct Passing {
  std::atomic<int> passed{0};  // int: what a futex waits on
  Nanoseconds time = 0;
  std::exception_ptr error;  // of a task before it

  void wait() const { passed.wait(0, std::memory_order_acquire); }
  bool done() const { return passed.load(std::memory_order_acquire) != 0; }
};

class HostEvent final : public Event {
 public:
  std::shared_ptr<Passing> last;  // of the latest record(), null before the first
};

class HostStream final : public Stream {
 public:
  // `cpu`: the CPU to bind the thread to; -1: any of the cores.
  explicit HostStream(CorePool& cores, int cpu = -1);
  ~HostStream() override;  // executes the queued tasks, then ends the thread
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  void enqueue(std::function<void()> task);
  std::shared_ptr<Passing> enqueue_passing();
  CoreTeam& team() { return team_; }
  // Waits for all tasks; rethrows the exception of a task since the last call.
  void synchronize();

 private:
  void serve();
  void perform(const std::function<void()>& task);

  CorePool* cores_;
  const int cpu_;
  CoreTeam team_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool sleeping_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;  // used by the stream's thread only
  std::thread thread_;        // last member: it uses all of the above
};

}  // namespace byteways
