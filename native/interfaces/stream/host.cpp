// The host's STREAM kernels and their verification data: loops over cache lines of doubles, compiled for each
// register width and selected at run time. Regular stores, like a compiled STREAM.
#include <algorithm>
#include <cstring>

#include "interfaces/stream/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/targets.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kMultiplier = 0x9E3779B97F4A7C15ull;  // of pattern_word()
constexpr Word kPerLine = 8;
constexpr Word kLineBytes = kPerLine * sizeof(double);
constexpr Word kWordsPerBlock = 1024;  // checked at once; fits in the nearest cache

typedef Word Words __attribute__((vector_size(kLineBytes)));
typedef double Doubles __attribute__((vector_size(kLineBytes)));

template <unsigned operation>
BYTEWAYS_INLINE Doubles computed(const Doubles& a, const Doubles& b) {
  if constexpr (operation == kStreamScale) return kStreamScalar * a;
  if constexpr (operation == kStreamAdd) return a + b;
  if constexpr (operation == kStreamTriad) return a + kStreamScalar * b;
  return a;
}

// One thread's share of an operation. Shares begin at cache lines; a partial line is processed separately.
template <unsigned operation>
BYTEWAYS_INLINE void stream_words(double* destination, const double* first, const double* second,
                                  Word count) {
  Word i = 0;
#pragma GCC unroll 4
  for (; i + kPerLine <= count; i += kPerLine) {
    Doubles a, b = {};
    std::memcpy(&a, first + i, kLineBytes);
    if constexpr (operation == kStreamAdd || operation == kStreamTriad)
      std::memcpy(&b, second + i, kLineBytes);
    const Doubles result = computed<operation>(a, b);
    std::memcpy(destination + i, &result, kLineBytes);
  }
  for (; i < count; ++i) {
    Word a = 0, b = 0;
    std::memcpy(&a, first + i, sizeof a);
    if constexpr (operation == kStreamAdd || operation == kStreamTriad) std::memcpy(&b, second + i, sizeof b);
    const Word result = stream_result(operation, a, b);
    std::memcpy(destination + i, &result, sizeof result);
  }
}

// Doubles of the pattern, from a line of products (key + index) × multiplier.
BYTEWAYS_INLINE Words pattern_line(const Words& products) {
  const Words words = products ^ (products >> 32);
  return 0x3FF0000000000000ull | ((words >> 12) & ~3ull);
}

BYTEWAYS_INLINE void first_products(Words& line, Word index) {
  for (Word k = 0; k < kPerLine; ++k) line[k] = (index + k) * kMultiplier;
}

BYTEWAYS_INLINE void fill_words(Word* words, Word count, Word index) {
  Words products;
  first_products(products, index);
  Word i = 0;
  for (; i + kPerLine <= count; i += kPerLine) {
    const Words line = pattern_line(products);
    std::memcpy(words + i, &line, sizeof line);
    products += kPerLine * kMultiplier;
  }
  for (; i < count; ++i) words[i] = stream_word(pattern_word(index, i));
}

// All bits that differ from the expected result in any word.
template <unsigned operation>
BYTEWAYS_INLINE Word differing_bits(const Word* words, Word count, Word first, Word second) {
  Words a, b, differing = {};
  first_products(a, first);
  first_products(b, second);
  Word i = 0;
  for (; i + kPerLine <= count; i += kPerLine) {
    Words got;
    std::memcpy(&got, words + i, sizeof got);
    const Words one = pattern_line(a), two = pattern_line(b);
    differing |= got ^ (Words)computed<operation>((Doubles)one, (Doubles)two);
    a += kPerLine * kMultiplier;
    b += kPerLine * kMultiplier;
  }
  Word bits = 0;
  for (; i < count; ++i) bits |= words[i] ^ stream_expected(operation, first, second, i);
  for (Word k = 0; k < kPerLine; ++k) bits |= differing[k];
  return bits;
}

struct Loops {
  void (*stream[4])(double*, const double*, const double*, Word);
  Word (*differ[4])(const Word*, Word, Word, Word);
  void (*fill)(Word*, Word, Word);
};

#define BYTEWAYS_STREAM_LOOPS(name, attribute)                                                           \
  template <unsigned operation>                                                                          \
  attribute void stream_##name(double* destination, const double* first, const double* second, Word n) { \
    stream_words<operation>(destination, first, second, n);                                              \
  }                                                                                                      \
  template <unsigned operation>                                                                          \
  attribute Word differ_##name(const Word* words, Word n, Word first, Word second) {                     \
    return differing_bits<operation>(words, n, first, second);                                           \
  }                                                                                                      \
  attribute void fill_##name(Word* words, Word n, Word index) { fill_words(words, n, index); }           \
  constexpr Loops k_##name = {{stream_##name<0>, stream_##name<1>, stream_##name<2>, stream_##name<3>},  \
                              {differ_##name<0>, differ_##name<1>, differ_##name<2>, differ_##name<3>},  \
                              fill_##name};

BYTEWAYS_STREAM_LOOPS(plain, )
#if defined(__x86_64__)
BYTEWAYS_STREAM_LOOPS(avx2, BYTEWAYS_TARGET("avx2"))
BYTEWAYS_STREAM_LOOPS(avx512, BYTEWAYS_TARGET("avx512f,avx512dq,avx512vl"))
#endif

const Loops& loops() {
  static const Loops chosen = [] {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return k_avx512;
    if (__builtin_cpu_supports("avx2")) return k_avx2;
#endif
    return k_plain;
  }();
  return chosen;
}

template <StreamOperation operation>
void stream_kernel(const StreamArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.bytes, kLineBytes, member);
  const auto at = [&](const void* base, Word slot) {
    return static_cast<const std::byte*>(base) + slot * arguments.stride + share.begin;
  };
  Word slot = arguments.first_operation % arguments.slots;
  for (Word k = 0; k < arguments.operations; ++k) {
    auto* destination =
        static_cast<std::byte*>(arguments.destination) + slot * arguments.stride + share.begin;
    const std::byte* second = arguments.second == nullptr ? nullptr : at(arguments.second, slot);
    loops().stream[operation](
        reinterpret_cast<double*>(destination), reinterpret_cast<const double*>(at(arguments.first, slot)),
        reinterpret_cast<const double*>(second), (share.end - share.begin) / sizeof(double));
    slot = slot + 1 == arguments.slots ? 0 : slot + 1;
    member.wait();  // an operation ends when all of its words are written
  }
}

void stream_fill_kernel(const StreamPatternArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.count, kPerLine, member);
  loops().fill(arguments.words + share.begin, share.end - share.begin,
               arguments.key + arguments.first_index + share.begin);
}

void stream_check_kernel(const StreamPatternArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.count, kPerLine, member);
  CheckResult found{0, ~0ull, 0, 0};
  for (Word begin = share.begin; begin < share.end; begin += kWordsPerBlock) {
    const Word end = std::min(begin + kWordsPerBlock, share.end), index = arguments.first_index + begin;
    const Word* words = arguments.words + begin;
    if (loops().differ[arguments.operation](words, end - begin, arguments.key + index,
                                            arguments.second_key + index) == 0)
      continue;
    for (Word j = 0; j < end - begin; ++j) {
      const Word expected =
          stream_expected(arguments.operation, arguments.key, arguments.second_key, index + j);
      if (words[j] == expected) continue;
      if (found.bad_count++ == 0) found = {1, begin + j, expected, words[j]};
    }
  }
  report(*arguments.result, found, member);
}

const RegisterHostKernel<stream_kernel<kStreamCopy>> kCopy("stream_copy");
const RegisterHostKernel<stream_kernel<kStreamScale>> kScale("stream_scale");
const RegisterHostKernel<stream_kernel<kStreamAdd>> kAdd("stream_add");
const RegisterHostKernel<stream_kernel<kStreamTriad>> kTriad("stream_triad");
const RegisterHostKernel<stream_fill_kernel> kFill("stream_fill");
const RegisterHostKernel<stream_check_kernel> kCheck("stream_check");

}  // namespace
}  // namespace byteways
