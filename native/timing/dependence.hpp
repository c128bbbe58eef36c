// Dependence between the samples of a series: autocorrelation, trend, and steps of the timer.
#pragma once
#include <vector>

namespace byteways {

// Returns the variance of the median relative to that of as many independent samples: 1 if the samples are
// independent. It is 1 + 2 (r1 + r2 + …), with the autocorrelations of the ranks summed by Geyer's initial
// monotone sequence (Statistical Science 7, 1992, section 3.3), corrected for the bias of short series. For a
// series that alternates between two states it is at least the mean number of samples per visit, because few
// samples of a second state hardly change the ranks. Large for fewer than 5 samples.
double variance_inflation(const std::vector<double>& samples);

// Trend over the series.
struct Trend {
  double change = 0;        // from the first sample to the last, relative to the median (Theil and Sen)
  double significance = 0;  // in standard deviations of what an order by chance would give (Mann-Kendall)
};
Trend trend(const std::vector<double>& samples);

// Returns the step of a coarse timer, in the unit of the samples: the smallest distance between two values,
// if most samples share their value with another one. 0 if they do not, or if all are equal.
double timer_step(const std::vector<double>& samples);

}  // namespace byteways
