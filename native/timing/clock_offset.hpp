// How far the clocks of ranks on different hosts are apart. Each host has a clock of its own that began
// at a time of its own; the difference is estimated from messages.
#pragma once
#include <vector>

#include "runtimes/host.hpp"
#include "runtimes/mpi/mpi.hpp"

namespace byteways {

struct ClockOffset {
  double offset_ns = 0;  // what a rank's clock shows more than that of rank 0
  // Half of the shortest round trip: however unequal its two ways were, the offset is not further off.
  double uncertainty_ns = 0;
  int round_trips = 0;
};

// Estimates the offset of each rank by the round trip with the least delay between it and rank 0: a longer
// one waited somewhere, in one direction more than in the other (Cristian 1989, Probabilistic clock
// synchronization). Collective; all ranks get the same results, and that of rank 0 is zero. Rank 0 takes the
// others one after the other. Drift during the estimate is not corrected: a rank takes about a millisecond.
std::vector<ClockOffset> estimate_clock_offsets(const Communicator& ranks, Clock& clock, int round_trips);

}  // namespace byteways
