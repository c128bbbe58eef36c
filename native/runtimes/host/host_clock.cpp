// The only wall clock of the core. CLOCK_MONOTONIC_RAW has the constant rate of the oscillator, whereas time
// synchronisation slews CLOCK_MONOTONIC (std::chrono::steady_clock) by up to 500 ppm at any time. Linux reads
// the former without a system call since 5.3 (generic vDSO, lib/vdso/gettimeofday.c); before, the latter is
// read, because a system call takes longer than what is timed between two hosts' threads.
#include "runtimes/host/host_clock.hpp"

#include <sys/utsname.h>
#include <time.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtimes/factories.hpp"

namespace byteways {
namespace {

// A thread that sleeps until the deadline; the resolution of sleeping threads is sufficient.
class HostWatchdog final : public Watchdog {
 public:
  explicit HostWatchdog(std::function<void()> action)
      : action_(std::move(action)), thread_([this] { watch(); }) {}
  ~HostWatchdog() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void arm(Nanoseconds delay) override {
    const std::lock_guard lock(mutex_);
    armed_ = true;
    deadline_ = std::chrono::steady_clock::now() + std::chrono::nanoseconds(delay);
    changed_.notify_all();
  }
  void disarm() override {
    std::unique_lock lock(mutex_);
    armed_ = false;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !acting_; });
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (!armed_) {
        changed_.wait(lock, [&] { return armed_ || ending_; });
      } else if (std::chrono::steady_clock::now() < deadline_) {
        const auto until = deadline_;  // arm() may move it before this thread wakes up
        changed_.wait_until(lock, until);
      } else {
        armed_ = false;
        acting_ = true;
        lock.unlock();
        action_();
        lock.lock();
        acting_ = false;
        changed_.notify_all();
      }
    }
  }

  const std::function<void()> action_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point deadline_;
  bool armed_ = false, acting_ = false, ending_ = false;
  std::thread thread_;  // last member: uses all of the above
};

class HostClock final : public Clock {
 public:
  Nanoseconds now() override {
    timespec time{};
    clock_gettime(clock_, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  std::unique_ptr<Watchdog> watchdog(std::function<void()> action) override {
    return std::make_unique<HostWatchdog>(std::move(action));
  }
  bool runs_by_itself() const override { return true; }

 private:
  // By version and not by trial: all processes of a host must choose the same clock.
  static clockid_t choose() {
    utsname names{};
    const bool raw = uname(&names) != 0 || reads_raw_clock_by_itself(names.release);
    return raw ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC;
  }
  const clockid_t clock_ = choose();
};

}  // namespace

bool reads_raw_clock_by_itself(std::string_view release) {
  constexpr int kMajor = 5, kMinor = 3;
  int major = 0, minor = 0;
  const char* end = release.data() + release.size();
  const auto after = std::from_chars(release.data(), end, major);
  if (after.ec != std::errc{}) return true;  // no release of Linux
  if (after.ptr != end && *after.ptr == '.') std::from_chars(after.ptr + 1, end, minor);
  return major > kMajor || (major == kMajor && minor >= kMinor);
}

Clock& host_clock() {
  static HostClock clock;
  return clock;
}

}  // namespace byteways
