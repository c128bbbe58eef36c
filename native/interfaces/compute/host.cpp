// The host's arithmetic in registers.
#include "interfaces/compute/arguments.hpp"
#include "interfaces/compute/ends.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/isa.hpp"

namespace byteways {
namespace {

BYTEWAYS_INLINE unsigned long long ends_of(float seed, unsigned int steps, unsigned int odd) {
  float ends[kComputeChains];
  for (unsigned int chain = 0; chain < kComputeChains; ++chain) ends[chain] = compute_seed(seed, chain, odd);
  for (unsigned int step = 0; step < steps; ++step)
    for (float& end : ends) {
      const float grown = 3.9f * end;
      end = __builtin_fmaf(-grown, end, grown);
    }
  unsigned long long mixed = 0;
  for (const float end : ends) {
    unsigned int bits = 0;
    __builtin_memcpy(&bits, &end, sizeof bits);
    mixed = compute_mix(mixed, bits);
  }
  return mixed;
}

// Without the FMA instruction the C library computes the same bits, many times slower.
#if defined(__x86_64__)
BYTEWAYS_TARGET("fma") unsigned long long ends_by_fma(float seed, unsigned int steps, unsigned int odd) {
  return ends_of(seed, steps, odd);
}
#endif

}  // namespace

unsigned long long compute_ends(float seed, unsigned int steps, unsigned int odd) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) return ends_by_fma(seed, steps, odd);
#endif
  return ends_of(seed, steps, odd);
}

namespace {

void compute_kernel(const ComputeArguments& arguments, const TeamMember& member) {
  const unsigned int odd = member.rank % 2;
  const unsigned long long mixed = compute_ends(arguments.seed, arguments.steps, odd);
  const unsigned long long index = member.rank % arguments.count;
  arguments.words[index] = pattern_word(arguments.key, index) + (mixed - arguments.expected[odd]);
}

const RegisterHostKernel<compute_kernel> kCompute("compute");

}  // namespace
}  // namespace byteways
