// See dependence.hpp.
#include "timing/dependence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "timing/states.hpp"

namespace byteways {
namespace {

constexpr double kMostInflation = 400;  // the maximum number of samples in a series

// Relative bias, times n, of sums of autocorrelations, which come out too low. Found with AR(1) series of 0.5
// to 0.95 and 30 to 400 samples (validation/coverage.py), using the series' own mean.
constexpr double kHidden = 10;

// Relative to the median: larger distances are groups of samples, not timer steps.
constexpr double kMostStep = 0.05;

// Ranks, averaged over ties.
std::vector<double> ranks(const std::vector<double>& samples) {
  const std::size_t n = samples.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return samples[a] < samples[b]; });
  std::vector<double> rank(n);
  for (std::size_t first = 0; first < n;) {
    std::size_t last = first;
    while (last + 1 < n && samples[order[last + 1]] == samples[order[first]]) ++last;
    for (std::size_t k = first; k <= last; ++k) rank[order[k]] = 0.5 * static_cast<double>(first + last);
    first = last + 1;
  }
  return rank;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double variance_inflation(const std::vector<double>& samples) {
  const std::size_t n = samples.size();
  if (n < 5) return kMostInflation;  // too few to estimate: assume the worst
  std::vector<double> rank = ranks(samples);
  const auto count = static_cast<double>(n);
  for (double& value : rank) value -= 0.5 * (count - 1);
  const double alone = std::inner_product(rank.begin(), rank.end(), rank.begin(), 0.0);
  if (alone == 0) return 1;  // all samples equal
  // The mean comes from the same samples, which lowers each autocorrelation by about 1/n.
  const auto correlation = [&](std::size_t lag) {
    const double together =
        std::inner_product(rank.begin() + static_cast<std::ptrdiff_t>(lag), rank.end(), rank.begin(), 0.0);
    return together / alone + (1 - static_cast<double>(lag) / count) / count;
  };
  double sum = 0, before = 2;
  for (std::size_t lag = 0; lag + 1 < n; lag += 2) {
    const double pair = std::min(before, (lag == 0 ? 1 : correlation(lag)) + correlation(lag + 1));
    if (pair <= 0) break;
    sum += before = pair;
  }
  const double inflation = std::max(1.0, 2 * sum - 1);
  const double of_ranks = inflation * (1 + kHidden * (inflation - 1) / count);
  return std::min(kMostInflation, std::max(of_ranks, samples_per_visit(samples)));
}

Trend trend(const std::vector<double>& samples) {
  const std::size_t n = samples.size();
  Trend found;
  if (n < 5) return found;
  std::vector<double> slopes;
  slopes.reserve(n * (n - 1) / 2);
  double rising = 0;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      const double rise = samples[b] - samples[a];
      rising += rise > 0 ? 1 : rise < 0 ? -1 : 0;
      slopes.push_back(rise / static_cast<double>(b - a));
    }
  const auto count = static_cast<double>(n);
  found.significance = rising / std::sqrt(count * (count - 1) * (2 * count + 5) / 18);
  const double middle = median_of(samples);
  if (middle != 0) found.change = median_of(std::move(slopes)) * (count - 1) / std::abs(middle);
  return found;
}

double timer_step(const std::vector<double>& samples) {
  std::vector<double> values = samples;
  std::sort(values.begin(), values.end());
  // Equal numbers of steps differ by rounding: values closer than a millionth count as equal.
  constexpr double kEqualWithin = 1e-6;
  double step = 0;
  std::size_t shared = 0, alike = 1;
  for (std::size_t k = 1; k <= values.size(); ++k) {
    const double distance = k < values.size() ? values[k] - values[k - 1] : 0;
    if (k < values.size() && distance <= kEqualWithin * std::abs(values[k])) {
      ++alike;
      continue;
    }
    if (alike > 1) shared += alike;
    alike = 1;
    if (k < values.size() && (step == 0 || distance < step)) step = distance;
  }
  const bool coarse = 2 * shared > values.size() && step <= kMostStep * std::abs(values[values.size() / 2]);
  return coarse ? step : 0;
}

}  // namespace byteways
