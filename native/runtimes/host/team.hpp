// The threads that execute one launch together. Member 0 is the stream's own thread; the others are created
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

// Position of a thread in the team, passed to host kernels.
struct TeamMember {
  unsigned rank = 0;
  unsigned size = 1;
  SpinBarrier* barrier = nullptr;
  std::mutex* mutex = nullptr;                       // one per team, for merging results
  std::atomic<unsigned long long>* taken = nullptr;  // pieces of this launch, see next_piece()

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

  // Call before `launches` launches of `size` members are queued: creates missing threads and wakes all of
  // them, so that none is asleep when a launch starts. Each launch must be followed by one run().
  void expect(unsigned size, unsigned launches);
  // Runs the function on `size` members, the calling thread being the first; returns when all are done.
  // Throws Error for a launch that was not expected: a member asleep would never join it.
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
  std::atomic<unsigned long long> taken_{0};
  SpinBarrier barrier_;
  int own_cpu_ = -1;  // CPU of member 0, assigned at its first launch of more than one
  bool on_own_cpu_ = false;
};

}  // namespace byteways
