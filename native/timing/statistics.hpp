// Order statistics with honest error bars: the interval of the median under dependence, and the stopping rule
// that keeps its coverage when it decides itself when to stop.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace byteways {

struct Interval {
  double low = 0, high = 0;
};

struct Summary {
  std::uint64_t n = 0;
  double median = 0, min = 0, max = 0, mean = 0, sd = 0;
  Interval ci95;                    // of the median
  double rank_autocorrelation = 0;  // lag 1, corrected as the stopping rule uses it
};

// Median of the values. Throws std::invalid_argument when empty.
double median(std::vector<double> values);
// Lag-1 autocorrelation of ranks, (n r + 1)/(n - 3) + 0.5/sqrt(n), clamped to [0, 0.95].
double rank_autocorrelation(const std::vector<double>& samples);
// Hettmansperger-Sheather interpolated order-statistic interval of the median, widened by
// v = (1 + r)/(1 - r) through alpha = erfc(1.96 sqrt(v) / sqrt(2)).
Interval median_interval(const std::vector<double>& samples, double rank_autocorrelation);
Summary summarize(const std::vector<double>& samples);

// First look at 20 samples, next at 1.5 n. Half-width <= precision of the median: take half as many again,
// look once more; still within: stop and report that interval.
class StoppingRule {
 public:
  explicit StoppingRule(double precision, std::uint64_t first_look = 20);
  // True when `samples` (all so far) suffice. Call after each sample; looks only when due.
  bool enough(const std::vector<double>& samples);
  std::uint64_t next_look() const { return next_look_; }

 private:
  double precision_;
  std::uint64_t next_look_;
  bool confirming_ = false;
};

// Whole-series warnings: "drift" (first and last third differ beyond both intervals), "bimodal" (Ashman's D
// of the best split), "correlated". None below 12 samples.
struct SeriesWarning {
  std::string id;
  double observed = 0, required = 0;
};
std::vector<SeriesWarning> series_warnings(const std::vector<double>& samples);

}  // namespace byteways
