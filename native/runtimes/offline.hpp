// Vendor functions that need no session: kernel compilation, and the engine rules of copies.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtimes/capabilities.hpp"

namespace byteways {

// Returns the compiler's readable output for every device source, by file name, for an architecture
// ("sm_90"). Throws Unsupported.
std::map<std::string, std::string> compile_kernels(const std::string& architecture,
                                                   const std::vector<std::string>& library_directories);

// Compiles every device source for an architecture ("gfx90a:sramecc+:xnack-") into the folder of the kernel
// cache. Some compilers abort the process if they do not know it, so call this in a child process.
void fill_kernel_cache(const std::string& architecture, const std::string& kernel_cache,
                       const std::vector<std::string>& library_directories);

// Returns the engine of a copy by the rules of a version of a runtime ("hip"), for the given environment
// variables; empty if there is no rule.
CopyRule copy_rule(const std::string& runtime, int version,
                   const std::map<std::string, std::string>& environment, const CopyEnds& ends,
                   std::uint64_t bytes);

// Whether the GPU of a runtime ("hip") at a PCI address is one package with a CPU, by the kernel's
// description in `sysfs`.
bool shares_memory_with_cpu(const std::string& runtime, const std::string& sysfs,
                            const std::string& pci_address);

}  // namespace byteways
