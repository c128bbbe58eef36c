// The host's fill, poison and check: loops over cache lines, compiled for each register width and selected at
// run time, because every case is verified and verification must run at memory speed.
#include <algorithm>
#include <cstring>

#include "interfaces/service/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/streaming_copy.hpp"
#include "runtimes/host/targets.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kMultiplier = 0x9E3779B97F4A7C15ull;  // of pattern_word()
constexpr Word kWordsPerLine = 8;
constexpr Word kWordsPerBlock = 1024;  // generated or checked at once; fits in the nearest cache
// From this size on (1 MiB) stores bypass the caches: 20 instead of 10 GB/s per core.
constexpr Word kWordsToStream = 1u << 17;

// A cache line of words; the compiler splits it into whatever registers the target has.
typedef Word Line __attribute__((vector_size(kWordsPerLine * sizeof(Word))));

// From word to word, the product in pattern_word() grows by its multiplier, so additions replace
// multiplications.
BYTEWAYS_INLINE void first_products(Line& line, Word product) {
  for (Word k = 0; k < kWordsPerLine; ++k) line[k] = product + k * kMultiplier;
}

BYTEWAYS_INLINE void fill_words(Word* words, Word count, Word product) {
  Line products;
  first_products(products, product);
  Word i = 0;
  for (; i + kWordsPerLine <= count; i += kWordsPerLine) {
    const Line line = products ^ (products >> 32);
    std::memcpy(words + i, &line, sizeof line);
    products += kWordsPerLine * kMultiplier;
  }
  for (Word k = 0; i < count; ++i, ++k) words[i] = products[k] ^ (products[k] >> 32);
}

// All bits that differ from the pattern in any word.
BYTEWAYS_INLINE Word differing_bits(const Word* words, Word count, Word product) {
  Line products;
  first_products(products, product);
  Line differing = {};
  Word i = 0;
  for (; i + kWordsPerLine <= count; i += kWordsPerLine) {
    Line line;
    std::memcpy(&line, words + i, sizeof line);
    differing |= line ^ products ^ (products >> 32);
    products += kWordsPerLine * kMultiplier;
  }
  Word bits = 0;
  for (Word k = 0; i < count; ++i, ++k) bits |= words[i] ^ products[k] ^ (products[k] >> 32);
  for (Word k = 0; k < kWordsPerLine; ++k) bits |= differing[k];
  return bits;
}

struct Loops {
  void (*fill)(Word*, Word, Word);
  Word (*differ)(const Word*, Word, Word);
};

void fill_plain(Word* words, Word count, Word product) { fill_words(words, count, product); }
Word differ_plain(const Word* words, Word count, Word product) {
  return differing_bits(words, count, product);
}

#if defined(__x86_64__)
BYTEWAYS_TARGET("avx2") void fill_avx2(Word* words, Word count, Word product) {
  fill_words(words, count, product);
}
BYTEWAYS_TARGET("avx2") Word differ_avx2(const Word* words, Word count, Word product) {
  return differing_bits(words, count, product);
}
BYTEWAYS_TARGET("avx512f,avx512dq,avx512vl") void fill_avx512(Word* words, Word count, Word product) {
  fill_words(words, count, product);
}
BYTEWAYS_TARGET("avx512f,avx512dq,avx512vl") Word differ_avx512(const Word* words, Word count, Word product) {
  return differing_bits(words, count, product);
}
#endif

const Loops& loops() {
  static const Loops chosen = [] {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      return Loops{fill_avx512, differ_avx512};
    if (__builtin_cpu_supports("avx2")) return Loops{fill_avx2, differ_avx2};
#endif
    return Loops{fill_plain, differ_plain};
  }();
  return chosen;
}

Word product_at(const PatternArguments& arguments, Word j) {
  return (arguments.key + arguments.first_index + j) * kMultiplier;
}

void note(CheckResult& found, Word j, Word expected, Word got) {
  ++found.bad_count;
  if (j < found.first_bad) {
    found.first_bad = j;
    found.expected = expected;
    found.got = got;
  }
}

void examine(const PatternArguments& arguments, Word begin, Word end, Word stride, CheckResult& found) {
  const PatternSum sum = sum_of(arguments);
  for (Word j = begin; j < end; j += stride) {
    const Word expected = (sum.at(arguments.first_index + j) & arguments.mask) | arguments.rest;
    if (arguments.words[j] != expected) note(found, j, expected, arguments.words[j]);
  }
}

// Shares begin at touched words.
Share touched_share(const PatternArguments& arguments, const TeamMember& member) {
  return share_of(arguments.count,
                  std::max(kWordsPerLine, arguments.stride) / arguments.stride * arguments.stride, member);
}

// Writes block by block: `make(words, count, j)` generates the words at position j.
template <typename Make>
void write_blocks(Word* words, const Share& share, Make make) {
  if (share.end - share.begin < kWordsToStream || !can_stream()) {
    make(words + share.begin, share.end - share.begin, share.begin);
    return;
  }
  alignas(64) Word block[kWordsPerBlock];
  for (Word j = share.begin; j < share.end; j += kWordsPerBlock) {
    const Word count = std::min(kWordsPerBlock, share.end - j);
    make(block, count, j);
    stream_copy(words + j, block, count * sizeof(Word));
  }
  stream_fence();
}

void fill_kernel(const PatternArguments& arguments, const TeamMember& member) {
  const Share share = touched_share(arguments, member);
  if (arguments.stride == 1) {
    write_blocks(arguments.words, share, [&](Word* words, Word count, Word j) {
      loops().fill(words, count, product_at(arguments, j));
    });
    return;
  }
  for (Word j = share.begin; j < share.end; j += arguments.stride)
    arguments.words[j] = pattern_word(arguments.key, arguments.first_index + j);
}

void poison_kernel(const PatternArguments& arguments, const TeamMember& member) {
  const Share share = touched_share(arguments, member);
  if (arguments.stride == 1) {
    write_blocks(arguments.words, share,
                 [&](Word* words, Word count, Word) { std::fill_n(words, count, arguments.key); });
    return;
  }
  for (Word j = share.begin; j < share.end; j += arguments.stride) arguments.words[j] = arguments.key;
}

void check_kernel(const PatternArguments& arguments, const TeamMember& member) {
  const Share share = touched_share(arguments, member);
  CheckResult found{0, ~0ull, 0, 0};
  if (arguments.stride == 1 && sum_of(arguments).is_pattern()) {
    for (Word begin = share.begin; begin < share.end; begin += kWordsPerBlock) {
      const Word end = std::min(begin + kWordsPerBlock, share.end);
      if (loops().differ(arguments.words + begin, end - begin, product_at(arguments, begin)) != 0)
        examine(arguments, begin, end, 1, found);
    }
  } else {
    examine(arguments, share.begin, share.end, arguments.stride, found);
  }
  report(*arguments.result, found, member);
}

const RegisterHostKernel<fill_kernel> kFill("fill");
const RegisterHostKernel<poison_kernel> kPoisonKernel("poison");
const RegisterHostKernel<check_kernel> kCheck("check");

}  // namespace
}  // namespace byteways
