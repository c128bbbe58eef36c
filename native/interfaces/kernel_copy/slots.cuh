// Helpers shared by the copy kernels.
#pragma once
#include "interfaces/device/prelude.cuh"
#include "interfaces/kernel_copy/arguments.hpp"

namespace byteways {

// Source and destination of this launch's operation.
__device__ inline const char* source_of(const CopyArguments& arguments) {
  return static_cast<const char*>(arguments.source) + arguments.source_offset;
}
__device__ inline char* destination_of(const CopyArguments& arguments) {
  return static_cast<char*>(arguments.destination) + arguments.destination_offset;
}

// Copies bytes past the last aligned boundary, and unaligned buffers: correct, not fast.
__device__ inline void copy_bytes(char* destination, const char* source, Word first, Word end, Word thread,
                                  Word threads) {
  for (Word i = first + thread; i < end; i += threads) destination[i] = source[i];
}

}  // namespace byteways
