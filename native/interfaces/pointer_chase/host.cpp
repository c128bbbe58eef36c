// The host's pointer chase.
#include <cstring>

#include "interfaces/pointer_chase/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

void chase_build_kernel(const ChaseArguments& arguments, const TeamMember& member) {
  auto* base = static_cast<std::byte*>(arguments.base);
  const auto address = [&](unsigned long long position) {
    return base + chase_line(position, arguments.lines, arguments.key) * arguments.line_bytes;
  };
  const Share share = share_of(arguments.lines, 1, member);
  if (share.begin == share.end) return;
  std::byte* line = address(share.begin);
  for (unsigned long long position = share.begin; position < share.end; ++position) {
    std::byte* next = address(position + 1);
    std::memcpy(line, &next, sizeof next);
    line = next;
  }
}

void chase_kernel(const ChaseArguments& arguments, const TeamMember& member) {
  if (member.rank != 0) return;
  const auto* base = static_cast<const std::byte*>(arguments.base);
  const void* line = base + arguments.start * arguments.line_bytes;
  // Only the dependent load; the counter runs in parallel. The result is used, so the compiler cannot remove
  // steps.
  for (unsigned long long step = 0; step < arguments.steps; ++step)
    line = *static_cast<const void* const*>(line);
  *arguments.end =
      static_cast<unsigned long long>(static_cast<const std::byte*>(line) - base) / arguments.line_bytes;
}

const RegisterHostKernel<chase_build_kernel> kBuild("chase_build");
const RegisterHostKernel<chase_kernel> kChase("chase");

}  // namespace
}  // namespace byteways
