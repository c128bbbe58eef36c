// Detects two states of a series: bimodal values, and series that stay in one state for several samples.
#pragma once
#include <cstddef>
#include <vector>

namespace byteways {

// Two modes: the split of the sorted values with the smallest variance within both parts (Otsu).
struct Modes {
  double separation = 0;  // Ashman's D
  double distance = 0;    // between the means
  double boundary = 0;    // smallest value of the upper mode
};

// Values of Ashman's D above this count as two modes. The best split of one normal distribution has 2.7.
constexpr double kSeparationAbove = 5.0;

// Returns the best split. `smallest`: minimum number of values in a mode; at least four, because three may be
// outliers.
Modes best_split(const std::vector<double>& sorted, std::size_t smallest = 0);

// Returns the mean number of samples per visit to a state, if the series has two states and stays in each for
// longer than a random order explains (runs test of Wald and Wolfowitz, Ann. Math. Stat. 11, 1940); else 1.
double samples_per_visit(const std::vector<double>& samples);

}  // namespace byteways
