// See cpu_domains.hpp.
#include "runtimes/host/cpu_domains.hpp"

#include <sys/utsname.h>

#include <algorithm>

#include "core/cpu_topology.hpp"
#include "core/cpus.hpp"
#include "core/text.hpp"
#include "memory/placement.hpp"

namespace byteways {
namespace {

HostDomain describe(const CpuDomain& domain) {
  HostDomain made;
  made.numa_domain = domain.number;
  made.memory_bytes = domain.memory_bytes;
  made.last_level_cache_bytes = domain.last_level_cache_bytes;
  if (domain.cores.empty()) {
    made.cpus = domain.cpus;
    made.physical_cores = static_cast<int>(domain.cpus.size());
    return made;
  }
  made.physical_cores = static_cast<int>(domain.cores.size());
  std::vector<int> second_threads;
  for (const std::vector<int>& core : domain.cores) {
    made.cpus.push_back(core.front());
    second_threads.insert(second_threads.end(), core.begin() + 1, core.end());
  }
  std::sort(second_threads.begin(), second_threads.end());
  made.cpus.insert(made.cpus.end(), second_threads.begin(), second_threads.end());
  return made;
}

}  // namespace

HostCpus host_cpus() {
  const CpuTopology read = read_cpus("/sys", "/proc", allowed_cpus());
  HostCpus found;
  found.name = read.model.empty() ? cpu_architecture() + " CPU" : read.model;
  for (const CpuDomain& domain : read.domains) found.domains.push_back(describe(domain));
  for (const MemoryDomain& memory : read.memory_only) {
    HostDomain made = found.domains[static_cast<std::size_t>(memory.nearest)];
    made.numa_domain = memory.number;
    made.memory_bytes = memory.memory_bytes;
    made.physical_cores = 0;
    found.domains.push_back(std::move(made));
  }
  // With one domain the machine-wide value is better: it includes hot-plugged memory.
  if (memory_domains().size() == 1)
    for (HostDomain& domain : found.domains)
      if (domain.numa_domain == memory_domains().front())
        domain.memory_bytes = meminfo_bytes("/proc/meminfo", "MemTotal");
  return found;
}

std::string cpu_architecture() {
  utsname names{};
  return uname(&names) == 0 ? names.machine : "unknown";
}

int CorePool::take() {
  const std::lock_guard lock(mutex_);
  const auto least = std::min_element(users_.begin(), users_.end());
  ++*least;
  return cpus_[static_cast<std::size_t>(least - users_.begin())];
}

void CorePool::give_back(int cpu) {
  const std::lock_guard lock(mutex_);
  --users_[static_cast<std::size_t>(std::find(cpus_.begin(), cpus_.end(), cpu) - cpus_.begin())];
}

}  // namespace byteways
