// The host's loads: the XOR of all words of an operation, added to the sum.
#include <atomic>

#include "interfaces/load/arguments.hpp"
#include "interfaces/load/host_loop.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kLineBytes = 64;
constexpr Versions<LoadXor, Word(const Word*, Word)> xor_words;

// An operation ends when all of its words are read. Two operations in turn have a word each for the XOR of
// their shares: a member that is ahead is at most in the next operation.
void finish(Word share, const LoadArguments& arguments, Word operation, const TeamMember& member) {
  const std::atomic_ref<Word> sum(arguments.sum[0]);
  if (member.size == 1) {
    sum.store(sum.load(std::memory_order_relaxed) + share, std::memory_order_relaxed);
    return;
  }
  const std::atomic_ref<Word> shares(arguments.sum[kLoadSharesAt[operation % 2]]);
  shares.fetch_xor(share, std::memory_order_relaxed);
  member.wait();
  if (member.rank != 0) return;
  sum.store(sum.load(std::memory_order_relaxed) + (shares.load(std::memory_order_relaxed) ^ kLoadSharesStart),
            std::memory_order_relaxed);
  shares.store(kLoadSharesStart, std::memory_order_relaxed);
}

void load_kernel(const LoadArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.bytes, kLineBytes, member);
  Word slot = arguments.first_operation % arguments.slots;
  for (Word operation = 0; operation < arguments.operations; ++operation) {
    const auto* begin = static_cast<const std::byte*>(arguments.data) + slot * arguments.stride + share.begin;
    finish(xor_words(reinterpret_cast<const Word*>(begin), (share.end - share.begin) / sizeof(Word)),
           arguments, operation, member);
    slot = slot + 1 == arguments.slots ? 0 : slot + 1;
  }
}

const RegisterHostKernel<load_kernel> kLoad("load");

}  // namespace
}  // namespace byteways
