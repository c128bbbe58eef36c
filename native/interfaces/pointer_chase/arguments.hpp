// Argument block of the pointer chase, and the cycle that it follows.
#pragma once
#include "interfaces/device/data_pattern.hpp"

namespace byteways {

// "chase_build" writes one random cycle through `lines` lines (a power of two) of `line_bytes` each: the
// 64-bit word at the start of line chase_line(p) holds the *address* of line chase_line(p + 1), so that a
// step is one dependent load and nothing else (a shift and an addition would add a quarter of the latency of
// a near cache). All devices see memory at one address. "chase" follows it for `steps` steps from line
// `start` and stores the *index* of the last line in *end: from chase_line(p) it must reach chase_line(p +
// steps).
struct ChaseArguments {
  void* base;
  unsigned long long lines;
  unsigned long long line_bytes;
  unsigned long long key;
  unsigned long long start;  // line index
  unsigned long long steps;
  unsigned long long* end;
};

// Bijection of [0, lines) for lines a power of two: position in the cycle -> line. Odd multiplications and
// xor-shifts are invertible modulo 2^m, so every line is visited once and no table is needed.
BYTEWAYS_HOST_DEVICE inline unsigned long long chase_line(unsigned long long position,
                                                          unsigned long long lines, unsigned long long key) {
  const unsigned long long mask = lines - 1;
  unsigned int half = 1;  // shift of about half the index width, at least 1
  while ((1ull << (2 * half)) < lines) ++half;
  unsigned long long x = position & mask;
  for (unsigned int round = 0; round < 3; ++round) {
    x = (x * ((key | 1ull) * 0x9E3779B97F4A7C15ull) + (key >> 17) + round) & mask;
    x ^= x >> half;
    key = key * 0xD1342543DE82EF95ull + 1;
  }
  return x & mask;
}

}  // namespace byteways
