// Locality of GPUs: NUMA domain, nearest cores, and host memory placed by thread policy for allocators that
// take no address (a vendor's pinned memory).
#pragma once
#include <string>
#include <vector>

namespace byteways {

// NUMA domain of a PCI device ("0000:3b:00.0"); 0 on a machine with one domain, -1 when unknown.
int numa_domain_of(const std::string& pci_address);

// The cores this process could use when its first runtime was opened.
class Cores {
 public:
  Cores();
  // Binds the calling thread to the cores nearest to the device. Returns false if they are unknown.
  bool bind_thread_near(const std::string& pci_address) const;

 private:
  std::vector<int> allowed_;
};

// During its lifetime, pages that the calling thread causes to be allocated come from one domain. Does
// nothing for a negative domain, or if the system forbids it (containers often do); Buffer::placement() shows
// the result.
class ThreadPlacement {
 public:
  explicit ThreadPlacement(int numa_domain);
  ~ThreadPlacement();
  ThreadPlacement(const ThreadPlacement&) = delete;
  ThreadPlacement& operator=(const ThreadPlacement&) = delete;

 private:
  static constexpr unsigned kMostDomains = 1024;  // the kernel's own limit (CONFIG_NODES_SHIFT = 10)
  static constexpr unsigned kMaskWords = kMostDomains / (8 * sizeof(unsigned long));
  bool active_ = false;
  int previous_mode_ = 0;
  unsigned long previous_mask_[kMaskWords] = {};
};

}  // namespace byteways
