// The host's STREAM kernels, and the fill and check of their data.
#include <algorithm>

#include "interfaces/stream/arguments.hpp"
#include "interfaces/stream/host_loops.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/slot_operations.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kPerLine = 8;
constexpr Word kLineBytes = kPerLine * sizeof(double);
constexpr Word kWordsPerBlock = 1024;  // checked at once; fits in the nearest cache

template <StreamOperation operation>
struct StreamSlot {
  std::byte* destination;
  const std::byte *first, *second;
  Word count;

  StreamSlot(const StreamArguments& arguments, const TeamMember& member) {
    const Share share = share_of(arguments.bytes, kLineBytes, member);
    destination = static_cast<std::byte*>(arguments.destination) + share.begin;
    first = static_cast<const std::byte*>(arguments.first) + share.begin;
    // Copy and scale have no second array, and read none.
    second = reads_second(operation) ? static_cast<const std::byte*>(arguments.second) + share.begin : first;
    count = (share.end - share.begin) / sizeof(double);
  }
  template <class Isa>
  BYTEWAYS_INLINE void run(Word offset, Word, const TeamMember& member) const {
    StreamLoop<operation>::template run<Isa>(reinterpret_cast<double*>(hidden(destination + offset)),
                                             reinterpret_cast<const double*>(hidden(first + offset)),
                                             reinterpret_cast<const double*>(hidden(second + offset)),
                                             hidden(count));
    member.wait();  // an operation ends when all of its words are written
  }
};

template <StreamOperation operation>
constexpr SlotVersions<StreamSlot<operation>, StreamArguments> stream_slots;
template <StreamOperation operation>
constexpr Versions<StreamDiffer<operation>, Word(const Word*, Word, Word, Word)> differing_bits;
constexpr Versions<StreamFill, void(Word*, Word, Word)> fill_words;

Word differing(unsigned operation, const Word* words, Word count, Word first, Word second) {
  switch (operation) {
    case kStreamCopy:
      return differing_bits<kStreamCopy>(words, count, first, second);
    case kStreamScale:
      return differing_bits<kStreamScale>(words, count, first, second);
    case kStreamAdd:
      return differing_bits<kStreamAdd>(words, count, first, second);
    default:
      return differing_bits<kStreamTriad>(words, count, first, second);
  }
}

template <StreamOperation operation>
void stream_kernel(const StreamArguments& arguments, const TeamMember& member) {
  stream_slots<operation>(arguments, member);
}

void stream_fill_kernel(const StreamPatternArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.count, kPerLine, member);
  fill_words(arguments.words + share.begin, share.end - share.begin,
             arguments.key + arguments.first_index + share.begin);
}

void stream_check_kernel(const StreamPatternArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.count, kPerLine, member);
  CheckResult found{0, ~0ull, 0, 0};
  for (Word begin = share.begin; begin < share.end; begin += kWordsPerBlock) {
    const Word end = std::min(begin + kWordsPerBlock, share.end), index = arguments.first_index + begin;
    const Word* words = arguments.words + begin;
    if (differing(arguments.operation, words, end - begin, arguments.key + index,
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
