// The monotonic clock, read from the processor's counter where the kernel does the same: a call of the
// kernel's function costs more than all the rest of what is done for an operation.
#pragma once
#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace byteways::watch {

namespace inner {
// ns = base_ns + (ticks - base_ticks) * scale / 2^32; a scale of 0: the kernel is asked.
extern std::atomic<std::uint64_t> scale, base_ticks;
extern std::atomic<std::int64_t> base_ns;
std::int64_t kernel_time() noexcept;

inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return 0;
#endif
}
}  // namespace inner

// Time of the monotonic clock in ns.
inline std::int64_t now() noexcept {
  const std::uint64_t scale = inner::scale.load(std::memory_order_relaxed);
  if (scale == 0) return inner::kernel_time();
  const std::uint64_t since = inner::ticks() - inner::base_ticks.load(std::memory_order_relaxed);
  return inner::base_ns.load(std::memory_order_relaxed) +
         static_cast<std::int64_t>(static_cast<unsigned __int128>(since) * scale >> 32);
}

// Time between two readings; a refinement between them may let the clock go back by less than it was wrong.
inline std::int64_t time_between(std::int64_t start, std::int64_t end) noexcept {
  return end < start ? 0 : end - start;
}

// Reads both clocks for the first time; the kernel is asked until refine_clock() has compared them.
void start_clock() noexcept;
// Compares them over all the time since. By the thread of snapshots: it opens a file.
void refine_clock() noexcept;

}  // namespace byteways::watch
