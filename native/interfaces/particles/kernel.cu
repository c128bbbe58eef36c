// Kernels of the particle exchange: a pass over all particles, and the packing of those that leave.
#include "interfaces/device/prelude.cuh"
#include "interfaces/particles/arguments.hpp"

namespace byteways {

BYTEWAYS_KERNEL(256) particles_track(TrackArguments arguments) {
  for (Word i = grid_thread(); i < arguments.count; i += grid_threads()) arguments.words[i] *= kGrowth;
}

// A block takes a message at a time.
BYTEWAYS_KERNEL(256) particles_pack(SegmentsArguments arguments) {
  for (Word k = block_index(); k < arguments.count; k += grid_blocks()) {
    const Segment segment = arguments.segments[k];
    for (Word i = thread_index(); i < segment.words; i += block_threads()) {
      arguments.messages[segment.in_messages + i] = arguments.store[segment.in_store + i];
      arguments.store[segment.in_store + i] = 0;
    }
  }
  if (arguments.fence != 0) fence_system();
}

BYTEWAYS_KERNEL(256) particles_unpack(SegmentsArguments arguments) {
  for (Word k = block_index(); k < arguments.count; k += grid_blocks()) {
    const Segment segment = arguments.segments[k];
    for (Word i = thread_index(); i < segment.words; i += block_threads())
      arguments.store[segment.in_store + i] = arguments.messages[segment.in_messages + i];
  }
}

}  // namespace byteways
