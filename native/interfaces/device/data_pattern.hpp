// The data pattern that verifies transfers, and the result of a check. Shared by device sources, host
// functions and the simulator. Plain types only, here and in all that device sources include: NVRTC and
// hipRTC read it without any other header.
#pragma once

namespace byteways {

#if defined(__HIP__) || defined(__HIPCC_RTC__)
#define BYTEWAYS_HOST_DEVICE __attribute__((host)) __attribute__((device))
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define BYTEWAYS_HOST_DEVICE __host__ __device__
#else
#define BYTEWAYS_HOST_DEVICE
#endif

// Counter-based pattern: one multiplication and one fold, so that the host can fill at memory speed, yet no
// two words of a buffer are equal and nothing compresses. The multiplier is 2^64 / golden ratio (Knuth 6.4).
BYTEWAYS_HOST_DEVICE inline unsigned long long pattern_word(unsigned long long key,
                                                            unsigned long long index) {
  unsigned long long word = (key + index) * 0x9E3779B97F4A7C15ull;
  return word ^ (word >> 32);
}

// What reductions leave: `factor` times the sum of `terms` patterns, whose keys are `step` apart, plus
// `own_factor` times the pattern of `own_key`; all modulo 2^64.
struct PatternSum {
  unsigned long long key = 0, step = 0;
  unsigned int terms = 1;
  unsigned long long factor = 1, own_key = 0, own_factor = 0;

  BYTEWAYS_HOST_DEVICE unsigned long long at(unsigned long long index) const {
    unsigned long long sum = 0;
    for (unsigned int term = 0; term < terms; ++term) sum += pattern_word(key + term * step, index);
    if (factor != 1) sum *= factor;
    if (own_factor != 0) sum += own_factor * pattern_word(own_key, index);
    return sum;
  }
  BYTEWAYS_HOST_DEVICE bool is_pattern() const { return terms == 1 && factor == 1 && own_factor == 0; }
};

// Result of a check. The launcher zeroes it (first_bad = all ones) before the launch.
struct CheckResult {
  unsigned long long bad_count;
  unsigned long long first_bad;  // smallest j for which words[j] differs, ~0 when none
  unsigned long long expected;   // at first_bad
  unsigned long long got;        // at first_bad
};

}  // namespace byteways
