// The CPU side of a machine as Linux describes it in sysfs and procfs: NUMA domains, cores, caches. This is
// the only reader: the host runtime and the topology build their CPU devices from it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace byteways {

// One level of cache as one core sees it.
struct CpuCache {
  int level = 0;
  std::string kind;  // "data", "instruction", "unified"
  std::uint64_t size_bytes = 0;
  std::uint64_t line_bytes = 0;  // 0: unknown
  int sharing_cpus = 1;
};

// A data or unified cache that several physical cores share.
struct SharedCpuCache {
  int level = 0;
  std::vector<int> cpus;  // of those that this process may use
};

// A NUMA domain with CPUs that this process may use.
struct CpuDomain {
  int number = 0;
  std::vector<int> cpus;                     // ascending
  std::vector<std::vector<int>> cores;       // CPUs of each physical core; empty: unknown
  std::uint64_t memory_bytes = 0;            // 0: unknown
  std::map<int, int> distances;              // to each domain; 10 is local (ACPI SLIT)
  std::vector<CpuCache> caches;              // of the first CPU, by level and kind
  std::vector<SharedCpuCache> shared;        // by level and CPUs
  std::uint64_t last_level_cache_bytes = 0;  // all caches of the highest level that these CPUs use
};

// A NUMA domain with memory but without CPUs: a memory expander (CXL), or HBM beside DDR.
struct MemoryDomain {
  int number = 0;
  std::uint64_t memory_bytes = 0;
  std::map<int, int> distances;
  int nearest = 0;  // index in `domains` of the domain with CPUs at the least distance
};

// CPUs of one design, among those that this process may use.
struct CoreType {
  std::string name;  // "Cortex-X925"
  std::vector<int> cpus;
};

struct CpuTopology {
  std::string model;  // "Intel(R) Xeon(R) Platinum 8480C"; empty where the kernel gives no name
  bool virtual_machine = false;
  std::vector<CpuDomain> domains;         // by number; a single one with all CPUs if the kernel shows none
  std::vector<MemoryDomain> memory_only;  // by number; without those of GPUs and of other containers
  std::vector<CoreType> core_types;       // if there are several, the largest first
  std::vector<std::string> notes;         // what could not be read, and why
};

// `allowed`: CPUs that this process may use.
CpuTopology read_cpus(const std::string& sysfs, const std::string& proc, const std::vector<int>& allowed);

}  // namespace byteways
