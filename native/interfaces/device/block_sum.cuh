// Sums over the threads of a block, for kernels that only read: one atomic addition per block.
#pragma once
#include "interfaces/device/prelude.cuh"

namespace byteways {

constexpr unsigned int kMostThreads = 1024;

// The sum over all threads of the block; valid in thread 0.
__device__ inline Word sum_of_block(Word own) {
  __shared__ Word sums[kMostThreads];
  sums[thread_index()] = own;
  synchronize_block();
  for (unsigned int left = block_threads(); left > 1;) {
    const unsigned int half = (left + 1) / 2;
    if (thread_index() < left / 2) sums[thread_index()] += sums[thread_index() + half];
    synchronize_block();
    left = half;
  }
  return sums[0];
}

}  // namespace byteways
