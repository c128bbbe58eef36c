// Collectives of all ranks of a communicator. Sizes are those of nccl-tests: of a rank's data where every
// rank has as much, of all blocks together where blocks are exchanged.
#pragma once
#include <memory>
#include <string>

#include "interfaces/mover.hpp"

namespace byteways {

// Throws Unsupported when `operation` is none ("allreduce", "barrier" …), or its blocks are not of whole
// words.
std::unique_ptr<Mover> make_collective(Session& session, const Flow& flow, const std::string& operation);

}  // namespace byteways
