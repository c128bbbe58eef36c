// What is asked of a vendor's part without a session: compiled kernels, and the rules by which copies are
// made.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtimes/capabilities.hpp"

namespace byteways {

// The compiler's readable output for every device source, by file name, for an architecture ("sm_90"). Throws
// Unsupported.
std::map<std::string, std::string> compile_kernels(const std::string& architecture,
                                                   const std::vector<std::string>& library_directories);

// Compiles every device source for an architecture ("gfx90a:sramecc+:xnack-") into the folder of the kernel
// cache. Some compilers end the process when they do not know it: to be called in a child.
void fill_kernel_cache(const std::string& architecture, const std::string& kernel_cache,
                       const std::vector<std::string>& library_directories);

// What carries a copy out by the rules of a version of a runtime ("hip"), with variables as the runtime would
// see them; empty when nothing is known.
CopyRule copy_rule(const std::string& runtime, int version,
                   const std::map<std::string, std::string>& environment, const CopyEnds& ends,
                   std::uint64_t bytes);

}  // namespace byteways
