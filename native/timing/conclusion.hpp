// What a measurement says when all samples are taken: its figures, and what there is to doubt about them.
#pragma once
#include <vector>

#include "timing/checked_data.hpp"
#include "timing/measure.hpp"
#include "timing/window.hpp"

namespace byteways {

// What the figures follow from.
struct Evidence {
  Series& series;
  const std::vector<FlowRunner>& runners;
  Sampler& sampler;
  WindowSampler* window;  // the sampler if flows are concurrent; else nullptr
  const CheckedData& data;
  const MeasureOptions& options;
  Team& team;
  double resolution_ns;  // of the time of one sample
  bool loops;            // samples are loops of fixed length
};

// Fills in the samples that count, those that do not, and their statistics.
void take_series(Measurement& measurement, Series& series, double resolution_ns);
// Fills in all that follows from the samples. Collective over the team.
void conclude(Measurement& measurement, const Evidence& evidence);

}  // namespace byteways
