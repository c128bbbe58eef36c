// The one wall clock of the core. CLOCK_MONOTONIC_RAW, because its rate is the oscillator's and stays the
// same while a run lasts: CLOCK_MONOTONIC (std::chrono::steady_clock) is slewed by time synchronisation, by
// up to 500 ppm, when the daemon sees fit. Both are read without a system call.
#include <time.h>

#include "runtimes/session.hpp"

namespace byteways {
namespace {

class HostClock final : public Clock {
 public:
  Nanoseconds now() override {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
};

}  // namespace

Clock& host_clock() {
  static HostClock clock;
  return clock;
}

}  // namespace byteways
