// Sums over the threads of a block, for kernels that only read: one atomic addition per block.
#pragma once
#include "interfaces/device/prelude.cuh"

namespace byteways {

constexpr unsigned int kMostThreads = 1024;

// The sum over all threads of the block; valid in thread 0.
__device__ inline Word sum_of_block(Word own) {
  __shared__ Word sums[kMostThreads];
  const bool whole_waves = block_threads() % wave_threads() == 0;
  const unsigned int threads = whole_waves ? wave_threads() : 1;  // that one sum is of
  if (whole_waves) own = sum_of_wave(own);
  if (thread_index() % threads == 0) sums[thread_index() / threads] = own;
  synchronize_block();
  Word sum = 0;
  if (thread_index() == 0)
    for (unsigned int k = 0; k < block_threads() / threads; ++k) sum += sums[k];
  return sum;
}

}  // namespace byteways
