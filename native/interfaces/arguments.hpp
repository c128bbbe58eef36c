// One argument block per kernel, shared by the device sources, the host's functions of the same names and the
// code that launches them. Plain types only: NVRTC and hipRTC read this text without any header.
#pragma once

namespace byteways {

// "gate": waits until *word >= target (unsigned compare), with system-scope acquire.
struct GateArguments {
  const unsigned int* word;
  unsigned int target;
};

// "fill", "poison" and "check" over 64-bit words. Word i of a buffer filled with `key` is
// pattern_word(key, i). Touched are words[0], words[stride], … below words[count]; words[j] is pattern word
// first_index + j.
struct PatternArguments {
  unsigned long long* words;
  unsigned long long count;        // words spanned, touched or not
  unsigned long long key;          // fill, check: the key; poison: the value stored
  unsigned long long first_index;  // index of words[0] in the pattern
  unsigned long long stride;       // 1: every word; n: every n-th word (spot poisoning)
  struct CheckResult* result;      // check only, in memory the executing agent can write
  // check with a stride: the bits of each word that are the pattern's, and what the others must be.
  unsigned long long mask = ~0ull, rest = 0;
};

// What "check" found. The launcher zeroes it (first_bad = all ones) before the launch.
struct CheckResult {
  unsigned long long bad_count;
  unsigned long long first_bad;  // smallest j for which words[j] differs, ~0 when none
  unsigned long long expected;   // at first_bad
  unsigned long long got;        // at first_bad
};

// "copy" and "copy_bulk" (device), "memcpy", "memcpy_stream" (host): `operations` back-to-back copies of
// `bytes`; operation k uses slot (first_operation + k) % slots, at slot * slot_stride bytes from each base.
// Device kernels are launched once an operation (operations = 1); the host loops inside one launch.
struct CopyArguments {
  const void* source;
  void* destination;
  unsigned long long bytes;
  unsigned long long source_slots, source_stride;
  unsigned long long destination_slots, destination_stride;
  unsigned long long first_operation;
  unsigned long long operations;
  unsigned int chunk_bytes;  // copy_bulk: bytes of one bulk instruction
  unsigned int stages;       // copy_bulk: chunks in flight per block
};

// "chase_build" writes one random cycle through `lines` lines (a power of two) of `line_bytes` each: the
// 64-bit word at the start of line chase_line(p) holds the *address* of line chase_line(p + 1), so that a
// step is one dependent load and nothing else (a shift and an addition would be a quarter of a near cache's
// latency). All agents see memory at one address. "chase" follows it for `steps` steps from line `start` and
// leaves the *index* of the line it ends on in *end: start at chase_line(p), expect chase_line(p + steps).
struct ChaseArguments {
  void* base;
  unsigned long long lines;
  unsigned long long line_bytes;
  unsigned long long key;
  unsigned long long start;  // line index
  unsigned long long steps;
  unsigned long long* end;
};

// "nothing": ends at once. With a word it leaves `value` there first, which proves that it ran.
struct NothingArguments {
  unsigned long long* word;
  unsigned long long value;
};

// What the STREAM kernels do with each word, a double: c = a, s·a, a + b, a + s·b (J. D. McCalpin, STREAM).
enum StreamOperation : unsigned int { kStreamCopy, kStreamScale, kStreamAdd, kStreamTriad };

// "stream_copy", "stream_scale", "stream_add", "stream_triad": destination = operation(first, second) over
// arrays of `bytes`; `operations` in turn, each on its slot of all arrays. Device kernels are launched once
// an operation; the host loops inside one launch.
struct StreamArguments {
  const void* first;
  const void* second;  // copy and scale leave it alone
  void* destination;
  unsigned long long bytes;  // of one array
  unsigned long long slots, stride;
  unsigned long long first_operation;
  unsigned long long operations;
  unsigned int fence;  // device: 1 when stores go to another agent, where they must arrive before the end
};

// "stream_fill" writes doubles of pattern `key`; "stream_check" compares with what the operation makes of the
// patterns `key` and `second_key`.
struct StreamPatternArguments {
  unsigned long long* words;
  unsigned long long count;
  unsigned long long key, second_key;
  unsigned long long first_index;
  unsigned int operation;
  struct CheckResult* result;  // check only
};

// "ping_pong": one side of two that send each other a number, each over a word that only it writes. In round
// k the side that leads writes first + k + 1 into *writes and waits until *polls has it; the other waits
// first, then writes. Stores release and loads acquire at system scope. A side that has looked in vain for
// `patience_ns` gives up, so that no device hangs; *rounds_done tells how far it came.
struct PingPongArguments {
  unsigned long long* writes;
  const unsigned long long* polls;
  unsigned long long first;
  unsigned long long rounds;
  unsigned long long patience_ns;
  unsigned long long leads;  // 0 or 1
  unsigned long long* rounds_done;
};

// "copy_rows" (device) and "memcpy_rows" (host): `rows` rows of `width_bytes`, a pitch apart on either side;
// a pitch as wide as a row packs them. `operations` in turn, each on its slot of both buffers.
struct RowsArguments {
  const void* source;
  void* destination;
  unsigned long long width_bytes, rows;
  unsigned long long source_pitch, destination_pitch;  // bytes
  unsigned long long slots, stride;
  unsigned long long first_operation;
  unsigned long long operations;
};

// "check_rows": `count` words that begin with a slot, one slot in `slot_words`. In slot s, word `column` of
// row r is pattern_word(key, s * slot_words + r * source_pitch_words + column); what lies between the rows
// and behind the last one is `gap`.
struct RowsCheckArguments {
  unsigned long long* words;
  unsigned long long count, slot_words;
  unsigned long long rows, row_words, pitch_words;
  unsigned long long key;
  unsigned long long source_pitch_words;
  unsigned long long gap;
  struct CheckResult* result;
};

// "occupy": every block spins until *word >= target; grid and shared memory are chosen to leave no room for
// another block, so that whatever completes meanwhile was not done by the multiprocessors.
struct OccupyArguments {
  const unsigned int* word;
  unsigned int target;
  unsigned int* running;  // incremented once by every block that has started
};

// "idle": nothing happens for so long; the pause between the operations of a flow that only loads a link.
struct IdleArguments {
  unsigned long long nanoseconds;
};

// Independent chains of "compute" hide the latency of the arithmetic units behind each other.
constexpr unsigned int kComputeChains = 4;

// "compute": every item (a thread on a GPU, a member of the team on a host) iterates kComputeChains logistic
// maps, x = 3.9 x (1 - x) in single precision. A step is a multiplication and a fused multiply-add, which
// round alike everywhere, and the map is chaotic: a step left out, or done wrong, changes the end. Item i
// stores pattern_word(key, i % count) if its end has the bits expected[i % 2], and another word if not.
struct ComputeArguments {
  unsigned long long* words;
  unsigned long long count;
  unsigned long long key;
  unsigned long long expected[2];  // compute_mix() of all chains' ends, of even and odd items
  float seed;                      // in (0, 0.3)
  unsigned int steps;              // of each chain
};

#if defined(__CUDACC__) || defined(__HIP__) || defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
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

inline constexpr double kStreamScalar = 3;  // as STREAM has it

// A double of the pattern as its bits: in [1, 2) with 50 bits of fraction. All that the four operations make
// of such doubles is exact, so there is one right answer whether a compiler fuses multiplication and addition
// or not.
BYTEWAYS_HOST_DEVICE inline unsigned long long stream_word(unsigned long long pattern) {
  return 0x3FF0000000000000ull | (pattern >> 12 & ~3ull);
}

// The operation on doubles that are given by their bits.
BYTEWAYS_HOST_DEVICE inline unsigned long long stream_result(unsigned int operation, unsigned long long first,
                                                             unsigned long long second) {
  union Double {
    unsigned long long bits;
    double value;
  };
  Double a, b;
  a.bits = first;
  b.bits = second;
  if (operation == kStreamScale) a.value = kStreamScalar * a.value;
  if (operation == kStreamAdd) a.value = a.value + b.value;
  if (operation == kStreamTriad) a.value = a.value + kStreamScalar * b.value;
  return a.bits;
}

// Word i of the result of an operation on sources that hold the patterns `key` and `second_key`.
BYTEWAYS_HOST_DEVICE inline unsigned long long stream_expected(unsigned int operation, unsigned long long key,
                                                               unsigned long long second_key,
                                                               unsigned long long index) {
  return stream_result(operation, stream_word(pattern_word(key, index)),
                       stream_word(pattern_word(second_key, index)));
}

// Even and odd items start elsewhere, so that no compiler does the arithmetic once for all of them.
BYTEWAYS_HOST_DEVICE inline float compute_seed(float seed, unsigned int chain, unsigned int odd) {
  return seed + 0.0625f * static_cast<float>(chain) + 0.03125f * static_cast<float>(odd);
}

BYTEWAYS_HOST_DEVICE inline unsigned long long compute_mix(unsigned long long mixed, unsigned int end) {
  return mixed * 0x9E3779B97F4A7C15ull + end;
}

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
