// The host's gate and pause; host_pattern.cpp has the data.
#include "interfaces/service/arguments.hpp"
#include "runtimes/factories.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

void gate_kernel(const GateArguments& arguments, const TeamMember& member) {
  if (member.rank != 0) return;
  spin_until([&] { return __atomic_load_n(arguments.word, __ATOMIC_ACQUIRE) >= arguments.target; });
}

void idle_kernel(const IdleArguments& arguments, const TeamMember& member) {
  if (member.rank != 0) return;
  Clock& clock = host_clock();
  const Nanoseconds until = clock.now() + static_cast<Nanoseconds>(arguments.nanoseconds);
  spin_until([&] { return clock.now() >= until; });
}

const RegisterHostKernel<gate_kernel> kGate("gate");
const RegisterHostKernel<idle_kernel> kIdle("idle");

}  // namespace
}  // namespace byteways
