// The NUMA domains of this machine as this process may use them: the cores it is allowed, their caches and
// memory.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace byteways {

struct CpuDomain {
  int numa_domain = 0;
  std::vector<int> cpus;   // allowed ones; the first of every physical core, then their siblings
  int physical_cores = 0;  // of them
  std::uint64_t memory_bytes = 0;
  std::uint64_t last_level_cache_bytes = 0;  // all caches of the highest level that these cores use
};

// Domains that have at least one allowed CPU, by number. One domain when the system does not tell.
std::vector<CpuDomain> cpu_domains(const std::string& system = "/sys/devices/system");

// "Intel(R) Xeon(R) Platinum 8480C"; the architecture where the kernel gives no name.
std::string cpu_name();
std::string cpu_architecture();  // "x86_64", "aarch64"

// Hands out the cores of a domain, the least used first, so that the threads of concurrent teams do not share
// a core while others idle.
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
