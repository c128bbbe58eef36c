// The MPI communicator of a flow.
#pragma once
#include "interfaces/flow.hpp"
#include "runtimes/mpi/mpi.hpp"

namespace byteways {

// Throws Unsupported when the ranks of the flow are no processes of MPI.
inline const Communicator& require_mpi(const Flow& flow) {
  const auto* ranks = dynamic_cast<const Communicator*>(flow.ranks);
  if (ranks == nullptr) throw Unsupported(flow.interface, "ranks", "it takes ranks that MPI has started");
  return *ranks;
}

}  // namespace byteways
