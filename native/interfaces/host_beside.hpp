// Where memory of the host is best allocated for a GPU.
#pragma once
#include "runtimes/session.hpp"

namespace byteways {

// Returns the NUMA domain of the GPU, or the first one if its own is unknown.
Device& host_beside(const Session& session, const Device& gpu);

}  // namespace byteways
