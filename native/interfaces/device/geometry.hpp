// Shapes of the kernels that move bytes by loads and stores. Device sources, launch code and the cost model
// of the simulator share these constants.
#pragma once

namespace byteways {

constexpr unsigned int kAccessBytes = 16;  // bytes of one load or store of a thread
// Accesses in flight per thread in a resident grid, which has no more threads than the device runs at a time:
// for a copy, and for each array that a STREAM kernel reads.
constexpr unsigned int kCopyInFlight = 8;
constexpr unsigned int kStreamInFlight = 4;
constexpr unsigned int kBlockThreads = 512;
// A covering grid has a thread for each access, or for each tile of kTileAccesses. Measured on H100 with 1 to
// 8 accesses a thread and 256 and 512 threads a block (docs/reference/peers.md): such grids are the fastest.
constexpr unsigned int kTileAccesses = 4;
constexpr unsigned int kCoverThreads = 256;

}  // namespace byteways
