// NUMA domains of this machine for the host runtime: the allowed cores, in the order in which threads use
// them.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace byteways {

struct HostDomain {
  int numa_domain = 0;
  std::vector<int> cpus;   // allowed ones; the first of every physical core, then their siblings
  int physical_cores = 0;  // of them
  std::uint64_t memory_bytes = 0;
  std::uint64_t last_level_cache_bytes = 0;  // all caches of the highest level that these cores use
};

struct HostCpus {
  std::string name;  // "Intel(R) Xeon(R) Platinum 8480C"; the architecture where the kernel gives no name
  // Those that have at least one allowed CPU, by number; then those with memory only. Their `cpus` and caches
  // are those of the nearest domain, whose threads fill and check their buffers; their physical_cores is 0.
  std::vector<HostDomain> domains;
};

HostCpus host_cpus();
std::string cpu_architecture();  // "x86_64", "aarch64"

// Assigns the cores of a domain, the least used first, so that threads of concurrent teams do not share a
// core while others are idle.
class CorePool {
 public:
  explicit CorePool(std::vector<int> cpus) : cpus_(std::move(cpus)), users_(cpus_.size()) {}
  int take();
  void give_back(int cpu);
  const std::vector<int>& cpus() const { return cpus_; }

 private:
  const std::vector<int> cpus_;
  std::mutex mutex_;
  std::vector<unsigned> users_;
};

}  // namespace byteways
