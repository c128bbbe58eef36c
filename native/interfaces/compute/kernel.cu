// Interface `compute`: arithmetic in registers; a concurrent transfer slows it only by using multiprocessors,
// power or clocks.
#include "interfaces/compute/arguments.hpp"
#include "interfaces/device/prelude.cuh"

namespace byteways {

BYTEWAYS_KERNEL(1024) compute(ComputeArguments arguments) {
  const Word item = grid_thread();
  const auto odd = static_cast<unsigned int>(item % 2);
  float ends[kComputeChains];
#pragma unroll
  for (unsigned int chain = 0; chain < kComputeChains; ++chain)
    ends[chain] = compute_seed(arguments.seed, chain, odd);
#pragma unroll 8
  for (unsigned int step = 0; step < arguments.steps; ++step) {
#pragma unroll
    for (unsigned int chain = 0; chain < kComputeChains; ++chain) {
      const float grown = 3.9f * ends[chain];
      ends[chain] = fused_multiply_add(-grown, ends[chain], grown);
    }
  }
  Word mixed = 0;
#pragma unroll
  for (unsigned int chain = 0; chain < kComputeChains; ++chain)
    mixed = compute_mix(mixed, bits_of(ends[chain]));
  const Word index = item % arguments.count;
  arguments.words[index] =
      pattern_word(arguments.key, index) + (mixed - (odd ? arguments.expected[1] : arguments.expected[0]));
}

}  // namespace byteways
