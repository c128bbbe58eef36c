// Whether the samples of a series depend on each other: over how many of them, whether they move along with
// time, and whether the timer's steps show in them.
#pragma once
#include <vector>

namespace byteways {

// By how much the variance of the median is larger than that of as many independent samples: 1 when they are.
// 1 + 2 (r1 + r2 + …) of the ranks' autocorrelations, summed by Geyer's initial monotone sequence
// (Statistical Science 7, 1992, section 3.3), corrected for what a short series hides. Of a series that
// stays in one of two states for a while, at least the samples of one visit: few samples of the second state
// hardly show in the ranks. Large for fewer than 5 samples.
double variance_inflation(const std::vector<double>& samples);

// Movement along the series.
struct Trend {
  double change = 0;        // from the first sample to the last, relative to the median (Theil and Sen)
  double significance = 0;  // in standard deviations of what an order by chance would give (Mann-Kendall)
};
Trend trend(const std::vector<double>& samples);

// The step that a coarse timer leaves in its samples: the least distance between two values where most
// samples share their value with another one. 0 where they do not, or all are equal.
double timer_step(const std::vector<double>& samples);

}  // namespace byteways
