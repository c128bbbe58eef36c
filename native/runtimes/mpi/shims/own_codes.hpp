// Errors that a shim itself finds. Codes of MPI libraries are positive.
#pragma once

namespace byteways::mpi {
inline constexpr int kNoSuchElement = -1, kBadCount = -2, kReductionTooLarge = -3, kWasFinalized = -4,
                     kTooFewThreads = -5;
}
