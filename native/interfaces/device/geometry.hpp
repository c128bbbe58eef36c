// Shapes of the kernels that move bytes by loads and stores. Device sources, launch code and the cost model
// of the simulator share these constants.
#pragma once

namespace byteways {

constexpr unsigned int kAccessBytes = 16;  // bytes of one load or store of a thread
// Loads in flight per thread: for a copy, and for each array that a STREAM kernel reads.
constexpr unsigned int kCopyInFlight = 8;
constexpr unsigned int kStreamInFlight = 4;
// Measured on H200 (docs/reference/peers.md): loads and stores need most of the device to saturate a link.
constexpr unsigned int kBlockThreads = 512;
constexpr unsigned int kBlocksPerMultiprocessor = 4;

}  // namespace byteways
