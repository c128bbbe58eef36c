// See locality.hpp.
#include "runtimes/gpu/locality.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/text.hpp"

namespace byteways::gpu {
namespace {

constexpr int kMostCores = 8192;  // the largest CONFIG_NR_CPUS that distributions build with
constexpr int kPolicyBind = 2;    // MPOL_BIND of <linux/mempolicy.h>

std::string pci_file(const std::string& pci_address, const char* name) {
  return "/sys/bus/pci/devices/" + pci_address + "/" + name;
}

// A CPU set of kMostCores, since cpu_set_t ends at 1024.
class CpuSet {
 public:
  CpuSet() : set_(CPU_ALLOC(kMostCores)), bytes_(CPU_ALLOC_SIZE(kMostCores)) { CPU_ZERO_S(bytes_, set_); }
  ~CpuSet() { CPU_FREE(set_); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
  cpu_set_t* get() { return set_; }
  std::size_t bytes() const { return bytes_; }
  bool contains(int core) const { return CPU_ISSET_S(core, bytes_, set_); }
  void add(int core) { CPU_SET_S(core, bytes_, set_); }

 private:
  cpu_set_t* set_;
  std::size_t bytes_;
};

}  // namespace

int numa_domain_of(const std::string& pci_address) {
  std::istringstream line(read_line(pci_file(pci_address, "numa_node")));
  int domain = -1;
  if (line >> domain && domain >= 0) return domain;
  // Firmware of machines with one domain (and of most virtual machines) leaves the field at -1.
  return parse_cpu_list(read_line("/sys/devices/system/node/online")) == std::vector<int>{0} ? 0 : -1;
}

Cores::Cores() {
  CpuSet set;
  if (sched_getaffinity(0, set.bytes(), set.get()) != 0) return;
  for (int core = 0; core < kMostCores; ++core)
    if (set.contains(core)) allowed_.push_back(core);
}

bool Cores::bind_thread_near(const std::string& pci_address) const {
  std::vector<int> local = parse_cpu_list(read_line(pci_file(pci_address, "local_cpulist")));
  std::sort(local.begin(), local.end());
  std::vector<int> chosen;
  std::set_intersection(local.begin(), local.end(), allowed_.begin(), allowed_.end(),
                        std::back_inserter(chosen));
  if (chosen.empty()) return false;
  CpuSet set;
  for (int core : chosen) set.add(core);
  return sched_setaffinity(0, set.bytes(), set.get()) == 0;
}

ThreadPlacement::ThreadPlacement(int numa_domain) {
  if (numa_domain < 0 || numa_domain >= static_cast<int>(kMostDomains)) return;
  if (syscall(SYS_get_mempolicy, &previous_mode_, previous_mask_, kMostDomains, nullptr, 0) != 0) return;
  constexpr unsigned kBits = 8 * sizeof(unsigned long);
  unsigned long mask[kMaskWords] = {};
  mask[numa_domain / kBits] = 1ul << (numa_domain % kBits);
  active_ = syscall(SYS_set_mempolicy, kPolicyBind, mask, kMostDomains) == 0;
}

ThreadPlacement::~ThreadPlacement() {
  if (active_) syscall(SYS_set_mempolicy, previous_mode_, previous_mask_, kMostDomains);
}

}  // namespace byteways::gpu
