// What AMD's kernel driver says of a GPU in sysfs, where the HIP runtime does not say it.
#pragma once
#include <string>

namespace byteways::hip {

// Whether the GPU at a PCI address is one package with a CPU, with one memory (MI300A): its link to the CPU
// has the weight of a socket (KFD_CRAT_INTRA_SOCKET_WEIGHT of kfd_crat.c; AMD's kfdtest asks the same). The
// `cpu_cores_count` of its node is 0 all the same, but not on older APUs. `sysfs` is "/sys"; empty: false.
bool shares_memory_with_cpu(const std::string& sysfs, const std::string& pci_address);

}  // namespace byteways::hip
