// The host's loads: words summed in vector registers.
#include <atomic>
#include <cstring>

#include "interfaces/load/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/targets.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kWordsPerLine = 8;
constexpr Word kLinesInFlight = 4;  // independent sums

typedef Word Line __attribute__((vector_size(kWordsPerLine * sizeof(Word))));

BYTEWAYS_INLINE Word sum_words(const Word* words, Word count) {
  Line sums[kLinesInFlight] = {};
  Word i = 0;
  for (; i + kLinesInFlight * kWordsPerLine <= count; i += kLinesInFlight * kWordsPerLine)
    for (Word k = 0; k < kLinesInFlight; ++k) {
      Line line;
      std::memcpy(&line, words + i + k * kWordsPerLine, sizeof line);
      sums[k] += line ^ (line >> 32);
    }
  Word sum = 0;
  for (const Line& each : sums)
    for (Word k = 0; k < kWordsPerLine; ++k) sum += each[k];
  for (; i < count; ++i) sum += load_word(words[i]);
  return sum;
}

Word sum_plain(const Word* words, Word count) { return sum_words(words, count); }
#if defined(__x86_64__)
BYTEWAYS_TARGET("avx2") Word sum_avx2(const Word* words, Word count) { return sum_words(words, count); }
BYTEWAYS_TARGET("avx512f,avx512dq,avx512vl") Word sum_avx512(const Word* words, Word count) {
  return sum_words(words, count);
}
#endif

using Loop = Word (*)(const Word*, Word);

Loop choose_loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return sum_avx512;
  if (__builtin_cpu_supports("avx2")) return sum_avx2;
#endif
  return sum_plain;
}

void load_kernel(const LoadArguments& arguments, const TeamMember& member) {
  static const Loop loop = choose_loop();
  const Share share = share_of(arguments.bytes, sizeof(Line), member);
  Word slot = arguments.first_operation % arguments.slots;
  for (Word operation = 0; operation < arguments.operations; ++operation) {
    const auto* begin = static_cast<const std::byte*>(arguments.data) + slot * arguments.stride + share.begin;
    const Word sum = loop(reinterpret_cast<const Word*>(begin), (share.end - share.begin) / sizeof(Word));
    std::atomic_ref(*arguments.sum).fetch_add(sum, std::memory_order_relaxed);
    slot = slot + 1 == arguments.slots ? 0 : slot + 1;
    member.wait();  // an operation ends when all of its words are read
  }
}

const RegisterHostKernel<load_kernel> kLoad("load");

}  // namespace
}  // namespace byteways
