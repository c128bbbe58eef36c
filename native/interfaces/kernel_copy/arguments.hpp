// Argument block and shapes of the copy kernels.
#pragma once
#include "interfaces/device/geometry.hpp"

namespace byteways {

// "copy", "copy_tiled", "copy_resident" and "copy_bulk" (device), "memcpy", "memcpy_stream" (host):
// `operations` back-to-back copies of `bytes`; operation k uses slot (first_operation + k) % slots, at slot *
// slot_stride bytes from each base. A device kernel is launched once per operation (operations = 1); the host
// loops inside one launch.
struct CopyArguments {
  const void* source;
  void* destination;
  unsigned long long bytes;
  unsigned long long source_offset, destination_offset;  // device: of this operation's slots
  unsigned int fence;                                    // device: 1 if must_fence() (mover.hpp)
  unsigned int chunk_bytes;                              // copy_bulk: bytes of one bulk instruction
  unsigned int stages;                                   // copy_bulk: chunks in flight per block
  unsigned long long chunks;  // copy_bulk: of all blocks, the last one perhaps in part
  unsigned long long source_slots, source_stride;
  unsigned long long destination_slots, destination_stride;
  unsigned long long first_operation;
  unsigned long long operations;
};

// Dynamic shared memory of copy_bulk: one 8-byte barrier per stage, then the stages.
constexpr unsigned int kBulkBarrierBytes = 256;
constexpr unsigned int kBulkMostStages = kBulkBarrierBytes / 8;
constexpr unsigned int kBulkGrainBytes = 16;  // smallest unit of one bulk instruction

}  // namespace byteways
