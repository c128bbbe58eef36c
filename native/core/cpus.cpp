// See cpus.hpp.
#include "core/cpus.hpp"

#include <sched.h>

#include <cstddef>
#include <fstream>

namespace byteways {
namespace {

constexpr int kMostCpus = 1 << 14;  // beyond the kernel's own limit (8192)

// A CPU set of any size: the fixed cpu_set_t ends at 1024.
class CpuSet {
 public:
  CpuSet() : set_(CPU_ALLOC(kMostCpus)) { CPU_ZERO_S(bytes(), set_); }
  ~CpuSet() { CPU_FREE(set_); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
  cpu_set_t* get() { return set_; }
  static std::size_t bytes() { return CPU_ALLOC_SIZE(kMostCpus); }
  bool has(int cpu) const { return CPU_ISSET_S(cpu, bytes(), set_); }
  void add(int cpu) { CPU_SET_S(cpu, bytes(), set_); }

 private:
  cpu_set_t* set_;
};

}  // namespace

std::vector<int> allowed_cpus() {
  CpuSet set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, CpuSet::bytes(), set.get()) != 0) return {0};
  for (int cpu = 0; cpu < kMostCpus; ++cpu)
    if (set.has(cpu)) cpus.push_back(cpu);
  return cpus;
}

bool bind_this_thread(const std::vector<int>& cpus) {
  CpuSet set;
  for (int cpu : cpus) set.add(cpu);
  return sched_setaffinity(0, CpuSet::bytes(), set.get()) == 0;
}

std::optional<double> cpu_wait_ns() {
  std::ifstream file("/proc/thread-self/schedstat");  // time on a CPU, time waiting for one, time slices
  double running_ns = 0, waiting_ns = 0;
  if (!(file >> running_ns >> waiting_ns)) return std::nullopt;
  return waiting_ns;
}

}  // namespace byteways
