// Helpers shared by the kernels `copy` and `copy_bulk`.
#pragma once
#include "interfaces/device/prelude.cuh"
#include "interfaces/kernel_copy/arguments.hpp"

namespace byteways {

// Source and destination of this launch's operation.
__device__ inline const char* source_of(const CopyArguments& arguments) {
  const Word slot = arguments.source_slots > 1 ? arguments.first_operation % arguments.source_slots : 0;
  return static_cast<const char*>(arguments.source) + slot * arguments.source_stride;
}
__device__ inline char* destination_of(const CopyArguments& arguments) {
  const Word slot =
      arguments.destination_slots > 1 ? arguments.first_operation % arguments.destination_slots : 0;
  return static_cast<char*>(arguments.destination) + slot * arguments.destination_stride;
}

// Copies bytes past the last aligned boundary, and unaligned buffers: correct, not fast.
__device__ inline void copy_bytes(char* destination, const char* source, Word first, Word end, Word thread,
                                  Word threads) {
  for (Word i = first + thread; i < end; i += threads) destination[i] = source[i];
}

}  // namespace byteways
