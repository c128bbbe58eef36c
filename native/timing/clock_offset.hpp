// How far the clocks of two ranks on different hosts are apart. Each host has a clock of its own that began
// at a time of its own; the difference is estimated from messages.
#pragma once
#include "runtimes/host.hpp"
#include "runtimes/mpi/mpi.hpp"

namespace byteways {

struct ClockOffset {
  double offset_ns = 0;  // what the clock of rank 1 shows more than that of rank 0
  // Half of the shortest round trip: however unequal its two ways were, the offset is not further off.
  double uncertainty_ns = 0;
  int round_trips = 0;
};

// Estimates it by the round trip with the least delay: a longer one waited somewhere, in one direction more
// than in the other (Cristian 1989, Probabilistic clock synchronization). Collective of two ranks, which get
// the same result. Drift during the estimate is not corrected: it takes about a millisecond.
ClockOffset estimate_clock_offset(const Communicator& pair, Clock& clock, int round_trips);

}  // namespace byteways
