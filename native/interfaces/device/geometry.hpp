// Shapes of the kernels that move bytes by loads and stores: the device sources, what launches them and what
// they cost on a simulated machine agree on them here.
#pragma once

namespace byteways {

constexpr unsigned int kAccessBytes = 16;  // of one load or store of a thread
// Loads that a thread has in flight: of a copy, and of each array that a STREAM kernel reads.
constexpr unsigned int kCopyInFlight = 8;
constexpr unsigned int kStreamInFlight = 4;
// Found on H200 (docs/reference/peers.md): loads and stores need most of the device to fill a link.
constexpr unsigned int kBlockThreads = 512;
constexpr unsigned int kBlocksPerMultiprocessor = 4;

}  // namespace byteways
