// Two states of a series: values in two groups, and a series that stays in one of them for a while.
#pragma once
#include <cstddef>
#include <vector>

namespace byteways {

// Two modes: the split of the sorted values with the least variance within both parts (Otsu).
struct Modes {
  double separation = 0;  // Ashman's D
  double distance = 0;    // of the means
  double boundary = 0;    // the least value of the upper mode
};

// Ashman's D from which on two modes are two; the best split of one normal distribution gives 2.7.
constexpr double kSeparationAbove = 5.0;

// `smallest`: values that a mode has at least. Four in any case, as three may be a disturbance each.
Modes best_split(const std::vector<double>& sorted, std::size_t smallest = 0);

// Samples of one visit to a state, on average, where a series has two states and stays in each for longer
// than an order by chance would have it (runs test of Wald and Wolfowitz, Ann. Math. Stat. 11, 1940); else 1.
double samples_per_visit(const std::vector<double>& samples);

}  // namespace byteways
