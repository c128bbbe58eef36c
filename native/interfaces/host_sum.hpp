// How the host proves what it read: each operation adds the XOR of its words to a sum (pattern_xor.hpp has
// what it must be). An XOR is one instruction a register, so that loads are the bottleneck and not the check.
#pragma once
#include <atomic>

#include "runtimes/host/team.hpp"

namespace byteways {

// The sum is the first word. Two more, a cache line each, are where threads combine their shares; all of them
// have the value kHostSumStart before the first operation. (It is kPoison, which a spoiled buffer holds.)
inline constexpr unsigned int kHostSumWords = 48, kHostSharesAt[2] = {16, 32};
inline constexpr unsigned long long kHostSumStart = 0xBADC0FFEE0DDF00Dull;

// Ends an operation, whose number counts from the begin of its launch. Operations use the two words in turn,
// because a member that is ahead may already be in the next one.
inline void add_to_sum(unsigned long long* words, unsigned long long share, unsigned long long operation,
                       const TeamMember& member) {
  constexpr auto relaxed = std::memory_order_relaxed;
  const std::atomic_ref sum(words[0]);
  if (member.size == 1) {
    sum.store(sum.load(relaxed) + share, relaxed);
    return;
  }
  const std::atomic_ref shares(words[kHostSharesAt[operation % 2]]);
  shares.fetch_xor(share, relaxed);
  member.wait();
  if (member.rank != 0) return;
  sum.store(sum.load(relaxed) + (shares.load(relaxed) ^ kHostSumStart), relaxed);
  shares.store(kHostSumStart, relaxed);
}

}  // namespace byteways
