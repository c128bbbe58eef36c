// A stream of the host is a thread that carries out its tasks in order; an event is the time at which it came
// past.
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

// One passing of one record(). Whoever waits keeps it alive, so that the event may be recorded anew
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
  // `cpu`: the one that its thread stays on; -1: any of the cores.
  explicit HostStream(CorePool& cores, int cpu = -1);
  ~HostStream() override;  // carries out what is queued, then ends the thread
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  void enqueue(std::function<void()> task);
  std::shared_ptr<Passing> enqueue_passing();
  CoreTeam& team() { return team_; }
  // Waits until all is done; throws what a task threw since the last call.
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
  std::exception_ptr error_;  // the stream's thread alone touches it
  std::thread thread_;        // last: it uses all of the above
};

}  // namespace byteways
