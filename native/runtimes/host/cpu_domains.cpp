// See cpu_domains.hpp.
#include "runtimes/host/cpu_domains.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "core/cpus.hpp"
#include "core/text.hpp"
#include "memory/placement.hpp"

namespace byteways {
namespace {

std::string siblings(const std::string& system, int cpu) {
  const std::string topology = system + "/cpu/cpu" + std::to_string(cpu) + "/topology/";
  const std::string list = read_line(topology + "thread_siblings_list");
  return list.empty() ? std::to_string(cpu) : list;
}

std::uint64_t last_level_cache(const std::string& system, const std::vector<int>& cpus) {
  std::map<int, std::map<std::string, std::uint64_t>> by_level;  // level -> CPUs that share it -> bytes
  for (int cpu : cpus) {
    for (int index = 0;; ++index) {
      const std::string cache =
          system + "/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
      const std::string type = read_line(cache + "type");
      if (type.empty()) break;
      if (type == "Instruction") continue;
      const auto level = static_cast<int>(parse_bytes(read_line(cache + "level")));
      by_level[level][read_line(cache + "shared_cpu_list")] = parse_bytes(read_line(cache + "size"));
    }
  }
  if (by_level.empty()) return 0;
  std::uint64_t bytes = 0;
  for (const auto& [shared, size] : by_level.rbegin()->second) bytes += size;
  return bytes;
}

CpuDomain describe(const std::string& system, int numa_domain, const std::vector<int>& cpus) {
  CpuDomain domain;
  domain.numa_domain = numa_domain;
  std::set<std::string> cores;
  std::vector<int> second_threads;
  for (int cpu : cpus)
    (cores.insert(siblings(system, cpu)).second ? domain.cpus : second_threads).push_back(cpu);
  domain.physical_cores = static_cast<int>(domain.cpus.size());
  domain.cpus.insert(domain.cpus.end(), second_threads.begin(), second_threads.end());
  domain.last_level_cache_bytes = last_level_cache(system, cpus);
  domain.memory_bytes =
      meminfo_bytes(system + "/node/node" + std::to_string(numa_domain) + "/meminfo", "MemTotal");
  return domain;
}

}  // namespace

std::vector<CpuDomain> cpu_domains(const std::string& system) {
  const std::vector<int> allowed = allowed_cpus();
  std::vector<CpuDomain> domains;
  for (int number : parse_cpu_list(read_line(system + "/node/has_cpu"))) {
    std::vector<int> cpus;
    for (int cpu : parse_cpu_list(read_line(system + "/node/node" + std::to_string(number) + "/cpulist")))
      if (std::binary_search(allowed.begin(), allowed.end(), cpu)) cpus.push_back(cpu);
    if (!cpus.empty()) domains.push_back(describe(system, number, cpus));
  }
  if (domains.empty()) domains.push_back(describe(system, memory_domains().front(), allowed));
  // With one domain the machine's figure is the better one: it includes memory that was plugged in later.
  if (memory_domains().size() == 1)
    for (CpuDomain& domain : domains)
      if (domain.numa_domain == memory_domains().front())
        domain.memory_bytes = meminfo_bytes("/proc/meminfo", "MemTotal");
  return domains;
}

std::string cpu_architecture() {
  utsname names{};
  return uname(&names) == 0 ? names.machine : "unknown";
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (key == "model name" || key == "cpu") return line.substr(colon + 2);  // "cpu": POWER
  }
  return cpu_architecture() + " CPU";  // Arm's kernels give numbers only
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
