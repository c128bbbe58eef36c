// See sampler.hpp.
#include "timing/sampler.hpp"

#include <cmath>

namespace byteways {
namespace {

constexpr int kMostOpenings = 2;  // maximum times that the watchdog may open the gate

constexpr double kSteadyWithin = 0.02;
constexpr int kSteadyRuns = 3, kMostWarmUpRuns = 24;
constexpr double kUnseenGrowth = 16;  // maximum growth of a batch per measurement

}  // namespace

double grow(std::uint64_t& batch, const BatchBounds& bounds, const std::function<double()>& time_of_sample) {
  batch = bounds.least;
  double time = time_of_sample();
  while (time < bounds.wanted_ns && batch < bounds.most) {
    const double growth = std::clamp(1.2 * bounds.wanted_ns / std::max(time, 1.0), 2.0, kUnseenGrowth);
    const double grown = std::ceil(static_cast<double>(batch) * growth / static_cast<double>(bounds.least));
    batch = std::min(bounds.most, static_cast<std::uint64_t>(grown) * bounds.least);
    time = time_of_sample();
  }
  return time;
}

bool steady(double before_ns, double now_ns) {
  return std::abs(now_ns - before_ns) <= kSteadyWithin * before_ns;
}

void run_until_steady(double before_ns, const std::function<double()>& run,
                      const std::function<bool()>& time_is_left, const std::function<bool()>& clocks_rise) {
  for (int runs = 0, alike = 0;
       (runs < kMostWarmUpRuns && alike < kSteadyRuns && time_is_left()) || clocks_rise(); ++runs) {
    const double now = run();
    alike = steady(before_ns, now) ? alike + 1 : 0;
    before_ns = now;
  }
}

double slope_of(const std::string& disturbed, double once_ns, double twice_ns, std::uint64_t batch) {
  const auto operations = static_cast<double>(batch);
  return disturbed.empty() ? (twice_ns - once_ns) / operations : twice_ns / (2 * operations);
}

bool Sampler::note_opening(bool opened) {
  const bool any = team_->agree_any("gate opened by its watchdog", opened);
  if (any && ++openings_ > kMostOpenings) gated_ = false;
  return any;
}

double Sampler::wait_for_all(Clock& clock) const {
  if (team_->size() == 1) return 0;  // reading a simulated clock takes virtual time
  const Nanoseconds before = clock.now();
  team_->barrier("start of a batch");
  return static_cast<double>(clock.now() - before);
}

}  // namespace byteways
