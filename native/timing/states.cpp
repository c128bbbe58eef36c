// See states.hpp.
#include "timing/states.hpp"

#include <algorithm>
#include <cmath>

namespace byteways {
namespace {

constexpr std::size_t kSmallestMode = 4;
// Threshold for too few changes of state, in standard deviations of a random order's number.
constexpr double kFewerVisits = 4;

}  // namespace

Modes best_split(const std::vector<double>& sorted, std::size_t smallest) {
  const std::size_t n = sorted.size();
  smallest = std::max(smallest, kSmallestMode);
  Modes modes;
  if (n < 2 * smallest) return modes;
  const double origin = sorted[n / 2];  // sums of differences from it keep their precision
  std::vector<double> sums{0}, squares{0};
  for (double value : sorted) {
    sums.push_back(sums.back() + (value - origin));
    squares.push_back(squares.back() + (value - origin) * (value - origin));
  }
  const auto mean = [&](std::size_t begin, std::size_t end) {
    return (sums[end] - sums[begin]) / static_cast<double>(end - begin);
  };
  const auto variance = [&](std::size_t begin, std::size_t end) {
    const double about_mean = squares[end] - squares[begin] - mean(begin, end) * (sums[end] - sums[begin]);
    return std::max(0.0, about_mean) / static_cast<double>(end - begin - 1);
  };
  double least = -1;
  for (std::size_t split = smallest; split + smallest <= n; ++split) {
    const double low = variance(0, split), high = variance(split, n);
    const double within = low * static_cast<double>(split) + high * static_cast<double>(n - split);
    if (least >= 0 && within >= least) continue;
    least = within;
    modes.distance = mean(split, n) - mean(0, split);
    modes.boundary = sorted[split];
    const double spread = std::sqrt(0.5 * (low + high));
    modes.separation = spread > 0 ? modes.distance / spread : 2 * kSeparationAbove;
  }
  return modes;
}

double samples_per_visit(const std::vector<double>& samples) {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const Modes modes = best_split(sorted);
  if (modes.separation <= kSeparationAbove) return 1;
  double upper = 0, visits = 1;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    const bool here = samples[k] >= modes.boundary;
    upper += here;
    if (k > 0 && here != (samples[k - 1] >= modes.boundary)) ++visits;
  }
  const auto count = static_cast<double>(samples.size());
  const double expected = 1 + 2 * upper * (count - upper) / count;
  const double deviation = std::sqrt((expected - 1) * (expected - 2) / (count - 1));
  return visits < expected - kFewerVisits * deviation ? count / visits : 1;
}

}  // namespace byteways
