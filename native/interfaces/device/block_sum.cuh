// Sums over the threads of a block, for kernels that only read: one atomic addition per block.
#pragma once
#include "interfaces/device/prelude.cuh"

namespace byteways {

constexpr unsigned int kMostThreads = 1024;

// The sum over all threads of the block; valid in thread 0.
__device__ inline Word sum_of_block(Word own) {
  __shared__ Word sums[kMostThreads];
  const unsigned int threads = block_threads(), wave = wave_threads(), thread = thread_index();
  if (threads % wave == 0) {
    own = sum_of_wave(own);
    if (threads == wave) return own;
    if (thread % wave == 0) sums[thread / wave] = own;
    synchronize_block();
    if (thread >= wave) return 0;
    return sum_of_wave(thread < threads / wave ? sums[thread] : 0);
  }
  sums[thread] = own;
  synchronize_block();
  Word sum = 0;
  if (thread == 0)
    for (unsigned int k = 0; k < threads; ++k) sum += sums[k];
  return sum;
}

}  // namespace byteways
