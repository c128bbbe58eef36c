// See host_kernels.hpp.
#include "runtimes/host/host_kernels.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "interfaces/device/data_pattern.hpp"

namespace byteways {
namespace {

// A function-local static, because registrations run in any order.
std::vector<HostKernel>& registered() {
  static std::vector<HostKernel> all;
  return all;
}

}  // namespace

const std::vector<HostKernel>& host_kernels() { return registered(); }

const HostKernel* find_host_kernel(std::string_view name) {
  for (const HostKernel& kernel : registered())
    if (kernel.name == name) return &kernel;
  return nullptr;
}

void register_host_kernel(HostKernel kernel) { registered().push_back(std::move(kernel)); }

Share share_of(unsigned long long items, unsigned long long grain, const TeamMember& member) {
  const unsigned long long grains = (items + grain - 1) / grain;
  // No overflow: a buffer has at most 2^47 bytes, a team at most 4096 members.
  const unsigned long long begin = grains * member.rank / member.size * grain;
  const unsigned long long end = grains * (member.rank + 1) / member.size * grain;
  return {std::min(begin, items), std::min(end, items)};
}

Share next_piece(unsigned long long items, unsigned long long piece, const TeamMember& member) {
  // No overflow: a buffer has at most 2^47 bytes, and each member takes one piece too many.
  const unsigned long long begin = piece * member.taken->fetch_add(1, std::memory_order_relaxed);
  return {std::min(begin, items), std::min(begin + piece, items)};
}

void report(CheckResult& result, const CheckResult& found, const TeamMember& member) {
  if (found.bad_count == 0) return;
  std::unique_lock<std::mutex> lock;
  if (member.mutex != nullptr) lock = std::unique_lock(*member.mutex);
  const unsigned long long total = result.bad_count + found.bad_count;
  if (found.first_bad < result.first_bad) result = found;
  result.bad_count = total;
}

}  // namespace byteways
