// How long a batch is, when it is warm, and what a slope between two batches says: the rules for everything
// that is timed in batches, by runtimes (single_sampler.hpp) or by another library (timed_calls.hpp).
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace byteways {

inline constexpr double kLeastDeviceBatchNs = 2e6;  // starting a batch takes a device about 4 µs: 0.2 %
// Both vendors state 0.5 us for the difference of two events. Some report finer steps, but that does not make
// the clock finer, so batch lengths assume the larger of the two.
inline constexpr double kStatedResolutionNs = 500;
inline constexpr double kTicksPerSample = 500;               // resolution then adds at most 0.2 % to a sample
inline constexpr std::uint64_t kSlopeBelowBytes = 64 << 10;  // below this the fixed cost of a batch matters
inline constexpr double kWarmUpShare = 0.2;                  // fraction of the time budget
inline constexpr std::uint64_t kLeastSamples = 3;

struct BatchBounds {
  double wanted_ns = 0;               // least time of a sample
  std::uint64_t least = 1, most = 1;  // operations; a batch is a multiple of `least`
};

// Grows `batch` until a sample takes long enough or has the most operations. Returns the time of a sample.
// `time_of_sample` measures one of the present batch.
double grow(std::uint64_t& batch, const BatchBounds& bounds, const std::function<double()>& time_of_sample);

// Repeats batches until their times are steady; at most a fixed number of times, and while time is left. Goes
// on as long as `clocks_rise`. `before_ns`: the time of the batch before.
void run_until_steady(double before_ns, const std::function<double()>& run,
                      const std::function<bool()>& time_is_left, const std::function<bool()>& clocks_rise);

// Returns the time of one operation from a batch and one of twice the length; where the slope is disturbed
// (Slopes::judge), an upper bound instead of a meaningless value.
double slope_of(const std::string& disturbed, double once_ns, double twice_ns, std::uint64_t batch);

}  // namespace byteways
