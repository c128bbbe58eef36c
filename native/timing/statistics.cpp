// See statistics.hpp. Coverage of the rule, with the rule switched on, is tested in
// tests/native/test_statistics.py.
#include "timing/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "timing/dependence.hpp"
#include "timing/states.hpp"

namespace byteways {
namespace {

constexpr double kFirstLook = 20, kLeastFirstLook = 7;  // fewer do not show dependence
constexpr double kGrowth = 1.5;    // checks at 20, 30, 45, …: each check costs a little coverage
constexpr double kPatience = 0.5;  // fraction of the budget for lengthening a series only due to dependence
// Samples needed per unit of inflation by dependence: in shorter series, a slow phase looks steady.
constexpr double kSamplesPerInflation = 105;
constexpr double kAlikeWithin =
    0.25;  // of the precision: dependence hidden by so small differences is irrelevant
constexpr double kLeastIndependent = 100;  // effective sample size below which a warning is given
constexpr double kDriftAbove =
    0.005;  // of the median, from first to last sample: half of the default precision
constexpr double kDriftDeviations = 3;  // of a random order: 0.3 % of series without drift
// 2 % of independent series of n samples show an inflation above 1 + this over sqrt(n).
constexpr double kInflationByChance = 16;
constexpr double kQuantisedWidth = 2;        // steps; a wider interval hides them
constexpr double kStepWorthTelling = 0.001;  // of the median: a tenth of the default precision
constexpr double kModesApart = 0.01;         // of the median; closer modes do not affect decisions
constexpr double kSmallestModeShare = 0.1;

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

double median_of_sorted(const std::vector<double>& values) {
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
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

double relative_half_width(const Interval& interval, double middle) {
  return middle == 0 ? 0 : 0.5 * (interval.high - interval.low) / std::abs(middle);
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median of no values");
  return median_of_sorted(sorted(std::move(values)));
}

namespace {

Interval order_interval(const std::vector<double>& values, double inflation) {
  const std::size_t n = values.size();
  const double wanted = 1 - std::erfc(1.96 * std::sqrt(inflation) / std::sqrt(2.0));
  const std::vector<double> confidence = order_confidences(n);
  if (confidence.front() <= wanted) return {values.front(), values.back()};
  std::size_t k = 1;  // largest k whose interval has the required confidence
  while (k < confidence.size() && confidence[k] >= wanted) ++k;
  if (k >= confidence.size()) return {values[k - 1], values[n - k]};
  const double outer = confidence[k - 1], inner = confidence[k];
  const double share = (outer - wanted) / (outer - inner);
  const double order = static_cast<double>(k), count = static_cast<double>(n);
  const double lambda = (count - order) * share / (order + (count - 2 * order) * share);
  // std::lerp stays between its two values, unlike the rounding of a weighted sum.
  return {std::lerp(values[k - 1], values[k], lambda), std::lerp(values[n - k], values[n - k - 1], lambda)};
}

// If timer steps make values equal, the true value may lie anywhere within a step. If values vary more than
// that, the step errors differ each time and average out.
double step_that_shows(const std::vector<double>& samples, double resolution) {
  const double seen = timer_step(samples);
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  const bool all_equal = *most - *least <= 1e-6 * std::abs(*most);
  return seen > 0 || all_equal ? std::max(seen, resolution) : 0;
}

}  // namespace

Interval median_interval(const std::vector<double>& samples, double inflation, double resolution) {
  if (samples.empty()) throw std::invalid_argument("interval of no values");
  const std::vector<double> values = sorted(samples);
  Interval interval = order_interval(values, inflation);
  const double half = 0.5 * step_that_shows(samples, resolution), middle = median_of_sorted(values);
  interval.low = std::min(interval.low, std::max(0.0, middle - half));
  interval.high = std::max(interval.high, middle + half);
  return interval;
}

Summary summarize(const std::vector<double>& samples, double resolution) {
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
  summary.variance_inflation = variance_inflation(samples);
  summary.ci95 = median_interval(samples, summary.variance_inflation, resolution);
  return summary;
}

StoppingRule::StoppingRule(double precision, std::uint64_t rounds, double resolution)
    : precision_(precision * std::sqrt(static_cast<double>(rounds))),
      resolution_(resolution),
      rounds_(static_cast<double>(rounds)),
      next_look_(static_cast<std::uint64_t>(
          std::max(kLeastFirstLook, std::ceil(kFirstLook / static_cast<double>(rounds))))) {}

bool StoppingRule::enough(const std::vector<double>& samples, double spent) {
  if (samples.size() < next_look_) return false;
  const double inflation = variance_inflation(samples);
  const Interval interval = median_interval(samples, inflation, resolution_);
  const auto count = static_cast<double>(samples.size()), in_all = count * rounds_;
  const bool narrow = relative_half_width(interval, median(samples)) <= precision_;
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  const bool alike = *most - *least <= kAlikeWithin * precision_ / std::sqrt(rounds_) * *most;
  const bool lasting = alike || spent > kPatience || in_all >= kSamplesPerInflation * inflation;
  if (narrow && lasting && confirming_) return true;
  confirming_ = narrow;  // stopping at the first narrow interval would select lucky ones: check once more
  next_look_ = static_cast<std::uint64_t>(std::ceil(kGrowth * count));
  return false;
}

std::vector<SeriesWarning> series_warnings(const std::vector<double>& samples, double resolution) {
  std::vector<SeriesWarning> warnings;
  const auto n = static_cast<double>(samples.size());
  const double step = samples.empty() ? 0 : step_that_shows(samples, resolution);
  if (step > 0) {
    const Interval interval = median_interval(samples, variance_inflation(samples), resolution);
    const double width = interval.high - interval.low, middle = median(samples);
    if (width <= kQuantisedWidth * step && step > kStepWorthTelling * middle)
      warnings.push_back({"quantised", step / middle, kStepWorthTelling});
  }
  if (n < 12) return warnings;
  const double inflation = variance_inflation(samples), independent = n / inflation;
  if (independent < kLeastIndependent && inflation > 1 + kInflationByChance / std::sqrt(n))
    warnings.push_back({"correlated", independent, kLeastIndependent});
  const Trend moved = trend(samples);
  if (std::abs(moved.significance) > kDriftDeviations && std::abs(moved.change) > kDriftAbove)
    warnings.push_back({"drift", moved.change, kDriftAbove});
  const Modes modes = best_split(sorted(samples), static_cast<std::size_t>(kSmallestModeShare * n));
  if (modes.separation > kSeparationAbove && modes.distance > kModesApart * median(samples))
    warnings.push_back({"bimodal", modes.separation, kSeparationAbove});
  return warnings;
}

}  // namespace byteways
