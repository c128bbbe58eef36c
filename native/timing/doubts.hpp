// What a measurement has to say against its own figure: each of these adds warnings to it.
#pragma once
#include "timing/measure.hpp"

namespace byteways {

// Of the samples as a series: too few, too wide, dependent, set aside.
void doubt_series(Measurement& measurement, const Series& series, const MeasureOptions& options,
                  double resolution_ns);
// Of the window that concurrent flows had in common.
void doubt_window(Measurement& measurement, const Series& series, const MeasureOptions& options);
// Of the device's clock beside the host's, for one flow alone.
void doubt_clocks(Measurement& measurement);

// Median of one of the three times over the samples that have it; 0 where none has.
double middle_of(const std::vector<Times>& times, double Times::* which);

}  // namespace byteways
