// The threads that carry out one launch together. Member 0 is the stream's own thread; the others are created
// when a launch first needs them, each bound to a core of its own, and sleep while no launch for them is
// queued.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtimes/host/cpu_domains.hpp"
#include "runtimes/host/spin.hpp"

namespace byteways {

// What a host kernel knows of the team that runs it.
struct TeamMember {
  unsigned rank = 0;
  unsigned size = 1;
  SpinBarrier* barrier = nullptr;
  std::mutex* mutex = nullptr;  // one per team, for results that are put together

  void wait() const {
    if (size > 1) barrier->wait(size);
  }
};

using HostFunction = void (*)(const void* arguments, const TeamMember& member);

class CoreTeam {
 public:
  explicit CoreTeam(CorePool& cores) : cores_(&cores) {}
  ~CoreTeam();
  CoreTeam(const CoreTeam&) = delete;
  CoreTeam& operator=(const CoreTeam&) = delete;

  // Called when a launch of `size` members is queued: creates those that are missing and wakes all of them,
  // so that none is still asleep when its turn comes. Every expect() is answered by one run().
  void expect(unsigned size);
  // Runs the function on `size` members, the calling thread being the first; returns when all are done.
  void run(unsigned size, HostFunction function, const void* arguments);

 private:
  struct Job {
    HostFunction function;
    const void* arguments;
    unsigned size;
  };
  struct Helper {
    int cpu = 0;
    std::atomic<unsigned> expected{0};  // queued launches that need it
    std::atomic<const Job*> job{nullptr};
    std::thread thread;
  };
  void add_helper();
  void serve(Helper& helper, unsigned rank);
  void take_core(bool with_others);

  CorePool* cores_;
  std::mutex mutex_;  // of helpers_
  std::vector<std::unique_ptr<Helper>> helpers_;
  std::atomic<bool> stopping_{false};
  std::mutex results_;
  SpinBarrier barrier_;
  int own_cpu_ = -1;  // of member 0, taken with its first launch of more than one
  bool on_own_cpu_ = false;
};

}  // namespace byteways
