// The host's side of a ping-pong.
#include "kernels/arguments.hpp"
#include "runtimes/factories.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/spin.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

// Looks without a pause in between, which would be in the figure: for some ten microseconds, longer than any
// answer takes. From then on the core is given away between looks: the other side may be waiting for it.
constexpr Word kLooksBeforeYield = 1 << 14;

bool awaited(const PingPongArguments& arguments, Word number) {
  for (Word look = 0; look < kLooksBeforeYield; ++look)
    if (__atomic_load_n(arguments.polls, __ATOMIC_ACQUIRE) == number) return true;
  Clock& clock = host_clock();
  const Nanoseconds until = clock.now() + static_cast<Nanoseconds>(arguments.patience_ns);
  while (__atomic_load_n(arguments.polls, __ATOMIC_ACQUIRE) != number) {
    if (clock.now() > until) return false;
    sched_yield();
  }
  return true;
}

}  // namespace

void ping_pong_kernel(const void* block, const TeamMember& member) {
  const auto& arguments = *static_cast<const PingPongArguments*>(block);
  if (member.rank != 0) return;
  Word round = 0;
  for (; round < arguments.rounds; ++round) {
    const Word number = arguments.first + round + 1;
    if (arguments.leads != 0) __atomic_store_n(arguments.writes, number, __ATOMIC_RELEASE);
    if (!awaited(arguments, number)) break;
    if (arguments.leads == 0) __atomic_store_n(arguments.writes, number, __ATOMIC_RELEASE);
  }
  __atomic_store_n(arguments.rounds_done, round, __ATOMIC_RELEASE);
}

}  // namespace byteways
