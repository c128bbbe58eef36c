// Argument block of the arithmetic kernel, and the function that it computes.
#pragma once
#include "interfaces/device/data_pattern.hpp"

namespace byteways {

// Number of independent chains in "compute", so that the latency of the arithmetic units is hidden.
constexpr unsigned int kComputeChains = 4;

// "compute": every item (a thread on a GPU, a member of the team on a host) iterates kComputeChains logistic
// maps, x = 3.9 x (1 - x) in single precision. A step is a multiplication and a fused multiply-add, which
// round alike everywhere. The map is chaotic, so a missing or wrong step changes the result. Item i
// stores pattern_word(key, i % count) if its result has the bits expected[i % 2], else another word.
struct ComputeArguments {
  unsigned long long* words;
  unsigned long long count;
  unsigned long long key;
  unsigned long long expected[2];  // compute_mix() of all chains' results, for even and odd items
  float seed;                      // in (0, 0.3)
  unsigned int steps;              // of each chain
};

// Even and odd items have different seeds, so that no compiler computes one result for all of them.
BYTEWAYS_HOST_DEVICE inline float compute_seed(float seed, unsigned int chain, unsigned int odd) {
  return seed + 0.0625f * static_cast<float>(chain) + 0.03125f * static_cast<float>(odd);
}

BYTEWAYS_HOST_DEVICE inline unsigned long long compute_mix(unsigned long long mixed, unsigned int end) {
  return mixed * 0x9E3779B97F4A7C15ull + end;
}

}  // namespace byteways
