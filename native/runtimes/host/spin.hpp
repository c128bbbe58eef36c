// Spin-waiting: short waits need no system call; longer ones yield the core, because there may be fewer cores
// than threads.
#pragma once
#include <sched.h>

#include <atomic>

namespace byteways {

inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` does nothing on most cores; isb costs about as much as x86's pause
#endif
}

// About 10 µs of pauses on recent cores: longer than a barrier between running threads, shorter than a
// scheduler time slice.
inline constexpr unsigned kPausesBeforeYield = 256;

template <typename Done>
void spin_until(Done&& done) {
  for (unsigned pauses = 0; !done();) {
    if (pauses < kPausesBeforeYield) {
      ++pauses;
      spin_pause();
    } else {
      sched_yield();
    }
  }
}

// Reusable by the same threads any number of times, also with a changing number of them.
class SpinBarrier {
 public:
  void wait(unsigned size) {
    const unsigned generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
      arrived_.store(0, std::memory_order_relaxed);
      generation_.store(generation + 1, std::memory_order_release);
    } else {
      spin_until([&] { return generation_.load(std::memory_order_acquire) != generation; });
    }
  }

 private:
  alignas(64) std::atomic<unsigned> arrived_{0};
  alignas(64) std::atomic<unsigned> generation_{0};
};

}  // namespace byteways
