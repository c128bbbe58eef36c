// See clock.hpp.
#include "watch/clock.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <string_view>

#include "watch/output.hpp"

namespace byteways::watch {
namespace inner {

constinit std::atomic<std::uint64_t> scale{0}, base_ticks{0};
constinit std::atomic<std::int64_t> base_ns{0};

std::int64_t kernel_time() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace inner

namespace {

// Both clocks are read within some 50 ns: 1 ms gives the scale to 10^-4, later comparisons far better.
constexpr std::int64_t kFirstComparison = 1'000'000;  // ns
enum class Counter { kNotAsked, kUsable, kUnusable };
constinit std::atomic<Counter> counter{Counter::kNotAsked};

// Whether the counter is the kernel's own clock: on others it may stop, or differ between processors.
bool is_usable() {
#if defined(__x86_64__)
  const int file =
      open_apart("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY, 0);
  if (file < 0) return false;
  char text[16];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  return length > 0 && std::string_view(text, static_cast<std::size_t>(length)) == "tsc\n";
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

struct Reading {
  std::uint64_t ticks;
  std::int64_t time;
};

// Both clocks at one time: the closest of several readings, because a processor may do other work between the
// two.
Reading both_clocks() {
  constexpr int kReadings = 16;
  Reading best{};
  std::uint64_t least = UINT64_MAX;
  for (int at = 0; at < kReadings; ++at) {
    const std::uint64_t before = inner::ticks();
    const std::int64_t time = inner::kernel_time();
    const std::uint64_t between = inner::ticks() - before;
    if (between >= least) continue;
    least = between;
    best = {before + between / 2, time};
  }
  return best;
}

std::uint64_t scale_between(const Reading& first, const Reading& last) {
  const std::int64_t elapsed = last.time - first.time;
  const std::uint64_t counted = last.ticks - first.ticks;
  return counted == 0 || elapsed <= 0
             ? 0
             : static_cast<std::uint64_t>((static_cast<unsigned __int128>(elapsed) << 32) / counted);
}

}  // namespace

void start_clock() noexcept {
  if (inner::base_ns.load() != 0) return;
  const Reading first = both_clocks();
  inner::base_ticks.store(first.ticks);
  inner::base_ns.store(first.time);
}

void refine_clock() noexcept {
  if (counter.load() == Counter::kNotAsked)
    counter.store(is_usable() ? Counter::kUsable : Counter::kUnusable);
  const Reading first{inner::base_ticks.load(), inner::base_ns.load()}, last = both_clocks();
  if (counter.load() != Counter::kUsable || last.time - first.time < kFirstComparison) return;
  if (const std::uint64_t better = scale_between(first, last))
    inner::scale.store(better, std::memory_order_release);
}

}  // namespace byteways::watch
