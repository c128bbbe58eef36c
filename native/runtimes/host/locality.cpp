// See locality.hpp.
#include "runtimes/host/locality.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/cpus.hpp"
#include "core/text.hpp"

namespace byteways {
namespace {

constexpr int kPolicyBind = 2;  // MPOL_BIND of <linux/mempolicy.h>

std::string pci_file(const std::string& pci_address, const char* name) {
  return "/sys/bus/pci/devices/" + pci_address + "/" + name;
}

}  // namespace

int numa_domain_of(const std::string& pci_address) {
  std::istringstream line(read_line(pci_file(pci_address, "numa_node")));
  int domain = -1;
  if (line >> domain && domain >= 0) return domain;
  // Firmware of machines with one domain (and of most virtual machines) reports -1.
  return parse_cpu_list(read_line("/sys/devices/system/node/online")) == std::vector<int>{0} ? 0 : -1;
}

Cores::Cores() : allowed_(allowed_cpus()) {}

bool Cores::bind_thread_near(const std::string& pci_address) const {
  std::vector<int> local = parse_cpu_list(read_line(pci_file(pci_address, "local_cpulist")));
  std::sort(local.begin(), local.end());
  std::vector<int> chosen;
  std::set_intersection(local.begin(), local.end(), allowed_.begin(), allowed_.end(),
                        std::back_inserter(chosen));
  return !chosen.empty() && bind_this_thread(chosen);
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

}  // namespace byteways
