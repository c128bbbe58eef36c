// Adds warnings about the reliability of a measurement to it.
#pragma once
#include "timing/measure.hpp"

namespace byteways {

// Warnings about the samples: too few, too wide an interval, dependent, discarded. `loops`: each is a loop of
// fixed length, of which one is meant to be enough.
void doubt_series(Measurement& measurement, const Series& series, const MeasureOptions& options,
                  double resolution_ns, bool loops);
// Warnings about the common window of concurrent flows.
void doubt_window(Measurement& measurement, const Series& series, const MeasureOptions& options);
// Warnings about a device clock that disagrees with the host's, for a single flow.
void doubt_clocks(Measurement& measurement);

// Returns the median of one of the three times in ns, over the samples that have it; 0 if none has.
double middle_of(const std::vector<Times>& times, double Times::* which);

}  // namespace byteways
