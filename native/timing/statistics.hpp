// Confidence interval of the median for dependent samples, and a stopping rule that preserves its coverage.
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
  Interval ci95;                  // of the median
  double variance_inflation = 1;  // factor of the variance for which the interval is widened (dependence.hpp)
};

// Returns the median. Throws std::invalid_argument if there are no values.
double median(std::vector<double> values);
// Hettmansperger-Sheather interpolated order-statistic interval of the median at the confidence
// 1 - erfc(1.96 sqrt(inflation) / sqrt(2)): dependent samples get the interval of fewer independent ones.
// Never narrower than `resolution`, the timer step in one sample.
Interval median_interval(const std::vector<double>& samples, double inflation, double resolution = 0);
// `resolution`: the timer step in one sample, if known. A step that the samples show is used as well.
Summary summarize(const std::vector<double>& samples, double resolution = 0);

// Decides when a round has enough samples. The required samples count over all rounds: each round is first
// checked after its part of 20 samples, at least 7, against a half-width of sqrt(rounds) times the precision.
// The next check is at 1.5 n. Once the interval is narrow enough, half as many samples again are taken; if it
// is still narrow enough at that check, sampling stops and that interval is reported. If the samples spread
// by more than a part of the precision, the series must also be long compared with its dependence: 105 times
// the variance inflation, over all rounds.
class StoppingRule {
 public:
  explicit StoppingRule(double precision, std::uint64_t rounds = 1, double resolution = 0);
  // Returns true if `samples` (all so far) suffice. Call after each sample; it checks only when due. `spent`
  // is the used part of the time (0 to 1), which limits how long a series is extended.
  bool enough(const std::vector<double>& samples, double spent = 0);
  // Required half-width of one round, relative to the median.
  double precision() const { return precision_; }

 private:
  double precision_, resolution_;
  double rounds_;
  std::uint64_t next_look_;
  bool confirming_ = false;
};

// Warnings about a series: "drift" (trend), "bimodal" (Ashman's D of the best split), "correlated" (too few
// samples for their dependence), "quantised" (the timer step is as wide as the interval). The first three
// need 12 samples.
struct SeriesWarning {
  std::string id;
  double observed = 0, required = 0;
};
std::vector<SeriesWarning> series_warnings(const std::vector<double>& samples, double resolution = 0);

}  // namespace byteways
