// The host's stores: words generated in vector registers, written by regular stores.
#include <cstring>

#include "interfaces/store/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/targets.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kMultiplier = 0x9E3779B97F4A7C15ull;  // of pattern_word()
constexpr Word kWordsPerLine = 8;

typedef Word Line __attribute__((vector_size(kWordsPerLine * sizeof(Word))));

// From word to word, the product in pattern_word() grows by its multiplier, so additions replace
// multiplications.
BYTEWAYS_INLINE void store_words(Word* words, Word count, Word index) {
  Line products;
  for (Word k = 0; k < kWordsPerLine; ++k) products[k] = (index + k) * kMultiplier;
  Word i = 0;
  for (; i + kWordsPerLine <= count; i += kWordsPerLine) {
    const Line line = products ^ (products >> 32);
    std::memcpy(words + i, &line, sizeof line);
    products += kWordsPerLine * kMultiplier;
  }
  for (; i < count; ++i) words[i] = pattern_word(index, i);
}

void store_plain(Word* words, Word count, Word index) { store_words(words, count, index); }
#if defined(__x86_64__)
BYTEWAYS_TARGET("avx2") void store_avx2(Word* words, Word count, Word index) {
  store_words(words, count, index);
}
BYTEWAYS_TARGET("avx512f,avx512dq,avx512vl") void store_avx512(Word* words, Word count, Word index) {
  store_words(words, count, index);
}
#endif

using Loop = void (*)(Word*, Word, Word);

Loop choose_loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return store_avx512;
  if (__builtin_cpu_supports("avx2")) return store_avx2;
#endif
  return store_plain;
}

void store_kernel(const StoreArguments& arguments, const TeamMember& member) {
  static const Loop loop = choose_loop();
  const Share share = share_of(arguments.bytes, sizeof(Line), member);
  Word slot = arguments.first_operation % arguments.slots;
  for (Word operation = 0; operation < arguments.operations; ++operation) {
    const Word begin = slot * arguments.stride + share.begin;
    loop(reinterpret_cast<Word*>(static_cast<std::byte*>(arguments.data) + begin),
         (share.end - share.begin) / sizeof(Word), arguments.key + begin / sizeof(Word));
    slot = slot + 1 == arguments.slots ? 0 : slot + 1;
    member.wait();  // an operation ends when all of its words are written
  }
}

const RegisterHostKernel<store_kernel> kStore("store");

}  // namespace
}  // namespace byteways
