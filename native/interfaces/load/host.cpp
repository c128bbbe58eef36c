// The host's loads: the XOR of all words of an operation, added to the sum.
#include "interfaces/host_sum.hpp"
#include "interfaces/load/arguments.hpp"
#include "interfaces/load/host_loop.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kLineBytes = 64;
constexpr Versions<LoadXor, Word(const Word*, Word)> xor_words;

void load_kernel(const LoadArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.bytes, kLineBytes, member);
  const auto loop = xor_words.chosen();
  Word slot = arguments.first_operation % arguments.slots;
  for (Word operation = 0; operation < arguments.operations; ++operation) {
    const auto* begin = static_cast<const std::byte*>(arguments.data) + slot * arguments.stride + share.begin;
    // An operation ends when all of its words are read.
    add_to_sum(arguments.sum,
               loop(reinterpret_cast<const Word*>(begin), (share.end - share.begin) / sizeof(Word)),
               operation, member);
    slot = slot + 1 == arguments.slots ? 0 : slot + 1;
  }
}

const RegisterHostKernel<load_kernel> kLoad("load");

}  // namespace
}  // namespace byteways
