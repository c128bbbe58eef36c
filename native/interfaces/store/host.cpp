// The host's stores: words generated in vector registers, written by regular stores.
#include "interfaces/pattern_loops.hpp"
#include "interfaces/store/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kLineBytes = 64;
constexpr Versions<PatternFill, void(Word*, Word, Word)> fill_words;

void store_kernel(const StoreArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.bytes, kLineBytes, member);
  const auto loop = fill_words.chosen();
  Word slot = arguments.first_operation % arguments.slots;
  for (Word operation = 0; operation < arguments.operations; ++operation) {
    const Word begin = slot * arguments.stride + share.begin;
    loop(reinterpret_cast<Word*>(static_cast<std::byte*>(arguments.data) + begin),
         (share.end - share.begin) / sizeof(Word),
         (arguments.key + begin / sizeof(Word)) * kPatternMultiplier);
    slot = slot + 1 == arguments.slots ? 0 : slot + 1;
    member.wait();  // an operation ends when all of its words are written
  }
}

const RegisterHostKernel<store_kernel> kStore("store");

}  // namespace
}  // namespace byteways
