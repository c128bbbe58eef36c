// See offline.hpp.
#include "runtimes/offline.hpp"

#include "runtimes/cuda/nvrtc.hpp"
#include "runtimes/hip/copy_rules.hpp"
#include "runtimes/hip/hiprtc.hpp"
#include "runtimes/hip/kfd.hpp"

namespace byteways {

std::map<std::string, std::string> compile_kernels(const std::string& architecture,
                                                   const std::vector<std::string>& library_directories) {
  return cuda::compile_kernels(architecture, library_directories);
}

void fill_kernel_cache(const std::string& architecture, const std::string& kernel_cache,
                       const std::vector<std::string>& library_directories) {
  hip::compile_kernels(architecture, kernel_cache, library_directories);
}

bool shares_memory_with_cpu(const std::string& runtime, const std::string& sysfs,
                            const std::string& pci_address) {
  return runtime == "hip" && hip::shares_memory_with_cpu(sysfs, pci_address);
}

CopyRule copy_rule(const std::string& runtime, int version,
                   const std::map<std::string, std::string>& environment, const CopyEnds& ends,
                   std::uint64_t bytes) {
  if (runtime != "hip") return {};  // no other vendor tells its rules
  const hip::CopyRules rules(version, [&environment](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
  return rules.rule(ends, bytes);
}

}  // namespace byteways
