// The host's side of a ping-pong.
#include "interfaces/ping_pong/arguments.hpp"
#include "runtimes/factories.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/spin.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

// Polls without pause, as a pause would add to the result: for about ten microseconds, longer than any answer
// takes. After that the thread yields between polls, as the other side may need the core.
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

void ping_pong_kernel(const PingPongArguments& arguments, const TeamMember& member) {
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

const RegisterHostKernel<ping_pong_kernel> kPingPong("ping_pong");

}  // namespace
}  // namespace byteways
