// The host's fill, poison and check, with loops for each register width, because every case is verified and
// verification must run at memory speed.
#include <algorithm>

#include "interfaces/pattern_loops.hpp"
#include "interfaces/service/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/streaming_copy.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kWordsPerLine = 8;
constexpr Word kWordsPerBlock = 1024;  // generated or checked at once; fits in the nearest cache
// From this size on (1 MiB) stores bypass the caches: 20 instead of 10 GB/s per core.
constexpr Word kWordsToStream = 1u << 17;

constexpr Versions<PatternFill, void(Word*, Word, Word)> fill_words;
constexpr Versions<PatternDiffer, Word(const Word*, Word, Word)> differing_bits;

Word product_at(const PatternArguments& arguments, Word j) {
  return (arguments.key + arguments.first_index + j) * kPatternMultiplier;
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

// Calls `work(piece)` for what this member is to do of adjacent words: large arrays in pieces, as members get
// to them; otherwise its share.
template <typename Work>
void for_pieces(const PatternArguments& arguments, const TeamMember& member, Work work) {
  if (member.taken == nullptr || arguments.count / member.size < kWordsToStream)
    return work(touched_share(arguments, member));
  for (;;) {
    const Share piece = next_piece(arguments.count, kWordsToStream, member);
    if (piece.begin == piece.end) return;
    work(piece);
  }
}

// Writes block by block: `make(words, count, j)` generates the words at position j.
template <typename Make>
void write_blocks(const PatternArguments& arguments, const TeamMember& member, Make make) {
  Word* const words = arguments.words;
  const bool streams = arguments.count / member.size >= kWordsToStream && can_stream();
  alignas(64) Word block[kWordsPerBlock];
  for_pieces(arguments, member, [&](const Share& share) {
    if (!streams) return make(words + share.begin, share.end - share.begin, share.begin);
    for (Word j = share.begin; j < share.end; j += kWordsPerBlock) {
      const Word count = std::min(kWordsPerBlock, share.end - j);
      make(block, count, j);
      stream_copy(words + j, block, count * sizeof(Word));
    }
  });
  if (streams) stream_fence();
}

void fill_kernel(const PatternArguments& arguments, const TeamMember& member) {
  if (arguments.stride == 1) {
    write_blocks(arguments, member, [&](Word* words, Word count, Word j) {
      fill_words(words, count, product_at(arguments, j));
    });
    return;
  }
  const Share share = touched_share(arguments, member);
  for (Word j = share.begin; j < share.end; j += arguments.stride)
    arguments.words[j] = pattern_word(arguments.key, arguments.first_index + j);
}

void poison_kernel(const PatternArguments& arguments, const TeamMember& member) {
  if (arguments.stride == 1) {
    write_blocks(arguments, member,
                 [&](Word* words, Word count, Word) { std::fill_n(words, count, arguments.key); });
    return;
  }
  const Share share = touched_share(arguments, member);
  for (Word j = share.begin; j < share.end; j += arguments.stride) arguments.words[j] = arguments.key;
}

void check_kernel(const PatternArguments& arguments, const TeamMember& member) {
  CheckResult found{0, ~0ull, 0, 0};
  if (arguments.stride == 1 && sum_of(arguments).is_pattern()) {
    for_pieces(arguments, member, [&](const Share& share) {
      for (Word begin = share.begin; begin < share.end; begin += kWordsPerBlock) {
        const Word end = std::min(begin + kWordsPerBlock, share.end);
        if (differing_bits(arguments.words + begin, end - begin, product_at(arguments, begin)) != 0)
          examine(arguments, begin, end, 1, found);
      }
    });
  } else {
    const Share share = touched_share(arguments, member);
    examine(arguments, share.begin, share.end, arguments.stride, found);
  }
  report(*arguments.result, found, member);
}

const RegisterHostKernel<fill_kernel> kFill("fill");
const RegisterHostKernel<poison_kernel> kPoisonKernel("poison");
const RegisterHostKernel<check_kernel> kCheck("check");

}  // namespace
}  // namespace byteways
