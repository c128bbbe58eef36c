// See statistics.hpp. Coverage of the rule, with the rule switched on, is tested in
// tests/native/test_statistics.py.
#include "timing/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace byteways {
namespace {

constexpr double kMaxCorrelation = 0.95;  // beyond it no number of samples this tool takes would help
constexpr double kCorrelatedAbove = 0.6;  // coverage falls to about 90 % beyond it (AR(1) 0.8)
constexpr double kGrowth = 1.5;           // looks at 20, 30, 45, …: each look costs a little coverage
constexpr double kDriftAbove = 0.01;      // difference of the thirds' medians worth a warning
constexpr double kSeparationAbove = 5.0;  // Ashman's D; the best split of one normal gives 2.7
constexpr double kModesApart = 0.02;      // of the median; closer modes do not change anybody's choice
constexpr double kSmallestModeShare = 0.1;

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

double median_of_sorted(const std::vector<double>& values) {
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

// Ranks with ties averaged.
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

// Confidence of [x_(k), x_(n+1-k)] for the median: 1 - 2 P(Binomial(n, 1/2) < k), for k = 1 … (n + 1)/2.
std::vector<double> order_confidences(std::size_t n) {
  std::vector<double> confidence;
  const double log_all = static_cast<double>(n) * std::log(2.0);
  double below = 0;
  for (std::size_t k = 1; 2 * k <= n + 1; ++k) {
    const double j = static_cast<double>(k - 1), m = static_cast<double>(n);
    below += std::exp(std::lgamma(m + 1) - std::lgamma(j + 1) - std::lgamma(m - j + 1) - log_all);
    confidence.push_back(std::max(0.0, 1 - 2 * below));
  }
  return confidence;
}

struct Modes {
  double separation = 0;  // Ashman's D
  double distance = 0;    // of the means
};

// Two modes: the split of the sorted values with the least variance within both parts (Otsu).
Modes best_split(const std::vector<double>& values) {
  const std::size_t n = values.size();
  const double origin = median_of_sorted(values);  // sums of differences from it lose no digits
  std::vector<double> sums{0}, squares{0};
  for (double value : values) {
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
  const auto smallest =
      std::max<std::size_t>(2, static_cast<std::size_t>(kSmallestModeShare * static_cast<double>(n)));
  double least = -1;
  Modes modes;
  for (std::size_t split = smallest; split + smallest <= n; ++split) {
    const double low = variance(0, split), high = variance(split, n);
    const double within = low * static_cast<double>(split) + high * static_cast<double>(n - split);
    if (least >= 0 && within >= least) continue;
    least = within;
    modes.distance = mean(split, n) - mean(0, split);
    const double spread = std::sqrt(0.5 * (low + high));
    modes.separation = spread > 0 ? modes.distance / spread : 2 * kSeparationAbove;
  }
  return modes;
}

double relative_half_width(const Interval& interval, double middle) {
  return middle == 0 ? 0 : 0.5 * (interval.high - interval.low) / std::abs(middle);
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median of no values");
  return median_of_sorted(sorted(std::move(values)));
}

double rank_autocorrelation(const std::vector<double>& samples) {
  const std::size_t n = samples.size();
  if (n < 5) return kMaxCorrelation;  // too few to tell: assume the worst
  const std::vector<double> rank = ranks(samples);
  const double middle = 0.5 * static_cast<double>(n - 1);
  double together = 0, alone = 0;
  for (std::size_t k = 0; k < n; ++k) {
    alone += (rank[k] - middle) * (rank[k] - middle);
    if (k + 1 < n) together += (rank[k] - middle) * (rank[k + 1] - middle);
  }
  if (alone == 0) return 0;  // all samples equal
  const double count = static_cast<double>(n);
  const double corrected = (count * (together / alone) + 1) / (count - 3) + 0.5 / std::sqrt(count);
  return std::clamp(corrected, 0.0, kMaxCorrelation);
}

Interval median_interval(const std::vector<double>& samples, double correlation) {
  if (samples.empty()) throw std::invalid_argument("interval of no values");
  const std::vector<double> values = sorted(samples);
  const std::size_t n = values.size();
  const double widening = (1 + correlation) / (1 - correlation);
  const double wanted = 1 - std::erfc(1.96 * std::sqrt(widening) / std::sqrt(2.0));
  const std::vector<double> confidence = order_confidences(n);
  if (confidence.front() <= wanted) return {values.front(), values.back()};
  std::size_t k = 1;  // largest k whose interval still has the wanted confidence
  while (k < confidence.size() && confidence[k] >= wanted) ++k;
  if (k >= confidence.size()) return {values[k - 1], values[n - k]};
  const double outer = confidence[k - 1], inner = confidence[k];
  const double share = (outer - wanted) / (outer - inner);
  const double order = static_cast<double>(k), count = static_cast<double>(n);
  const double lambda = (count - order) * share / (order + (count - 2 * order) * share);
  // std::lerp never leaves the two values it goes between, which rounding of a weighted sum does.
  return {std::lerp(values[k - 1], values[k], lambda), std::lerp(values[n - k], values[n - k - 1], lambda)};
}

Summary summarize(const std::vector<double>& samples) {
  Summary summary;
  summary.n = samples.size();
  if (samples.empty()) return summary;
  const std::vector<double> values = sorted(samples);
  summary.median = median_of_sorted(values);
  summary.min = values.front();
  summary.max = values.back();
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double squares = 0;
  for (double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.sd = values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0;
  summary.rank_autocorrelation = rank_autocorrelation(samples);
  summary.ci95 = median_interval(samples, summary.rank_autocorrelation);
  return summary;
}

StoppingRule::StoppingRule(double precision, std::uint64_t first_look)
    : precision_(precision), next_look_(first_look) {}

bool StoppingRule::enough(const std::vector<double>& samples) {
  if (samples.size() < next_look_) return false;
  const Interval interval = median_interval(samples, rank_autocorrelation(samples));
  const bool narrow = relative_half_width(interval, median(samples)) <= precision_;
  if (narrow && confirming_) return true;
  confirming_ = narrow;  // stopping at the first narrow look would keep the lucky ones: look once more
  next_look_ = static_cast<std::uint64_t>(std::ceil(kGrowth * static_cast<double>(samples.size())));
  return false;
}

std::vector<SeriesWarning> series_warnings(const std::vector<double>& samples) {
  std::vector<SeriesWarning> warnings;
  const std::size_t n = samples.size();
  if (n < 12) return warnings;
  const double correlation = rank_autocorrelation(samples);
  if (correlation > kCorrelatedAbove) warnings.push_back({"correlated", correlation, kCorrelatedAbove});

  const Summary begin = summarize({samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(n / 3)});
  const Summary end = summarize({samples.end() - static_cast<std::ptrdiff_t>(n / 3), samples.end()});
  const double change = end.median / begin.median - 1;
  const bool apart = end.ci95.low > begin.ci95.high || end.ci95.high < begin.ci95.low;
  if (apart && std::abs(change) > kDriftAbove) warnings.push_back({"drift", change, kDriftAbove});

  const Modes modes = best_split(sorted(samples));
  if (modes.separation > kSeparationAbove && modes.distance > kModesApart * median(samples))
    warnings.push_back({"bimodal", modes.separation, kSeparationAbove});
  return warnings;
}

}  // namespace byteways
