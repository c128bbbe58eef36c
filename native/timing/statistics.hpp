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
  Interval ci95;                  // of the median
  double variance_inflation = 1;  // by which the interval is widened (timing/dependence.hpp)
};

// Median of the values. Throws std::invalid_argument when empty.
double median(std::vector<double> values);
// Hettmansperger-Sheather interpolated order-statistic interval of the median at the confidence
// 1 - erfc(1.96 sqrt(inflation) / sqrt(2)): that of samples which depend on each other is as wide as that of
// fewer independent ones. Never narrower than `resolution`, the step of the timer in one sample.
Interval median_interval(const std::vector<double>& samples, double inflation, double resolution = 0);
// `resolution`: the step of the timer in one sample where it is known; what the samples show of it counts
// too.
Summary summarize(const std::vector<double>& samples, double resolution = 0);

// Of a case that is sampled in several rounds the samples needed count over all of them: each round looks
// first after its part of 20 samples, and not before 7, at a half-width that may be sqrt(rounds) times as
// wide. The next look is at 1.5 n. Once narrow, half as many samples again are taken; still narrow at that
// look: stop and report that interval. Where the samples spread by more than a part of the precision the
// series also has to be long beside what it shows of dependence: 105 samples in all rounds for each that its
// dependence makes one of.
class StoppingRule {
 public:
  explicit StoppingRule(double precision, std::uint64_t rounds = 1, double resolution = 0);
  // True when `samples` (all so far) suffice. Call after each sample; looks only when due. `spent` is the
  // part of the time that is already used: a series is not lengthened for ever.
  bool enough(const std::vector<double>& samples, double spent = 0);
  // Half-width that is asked of one round, relative to the median.
  double precision() const { return precision_; }

 private:
  double precision_, resolution_;
  double rounds_;
  std::uint64_t next_look_;
  bool confirming_ = false;
};

// Whole-series warnings: "drift" (the samples move along with time), "bimodal" (Ashman's D of the best
// split), "correlated" (too few samples beside the time over which they depend on each other), "quantised"
// (the timer's step is as wide as the interval). The first three need 12 samples.
struct SeriesWarning {
  std::string id;
  double observed = 0, required = 0;
};
std::vector<SeriesWarning> series_warnings(const std::vector<double>& samples, double resolution = 0);

}  // namespace byteways
