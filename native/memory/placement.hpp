// NUMA placement of pages: set by policy, then checked with the kernel. Raw system calls, so that no libnuma
// is needed.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

namespace byteways {

// Numbers of the NUMA domains that have memory; {0} when the system does not tell.
std::vector<int> memory_domains();

// Binds untouched pages to a domain. If the system forbids it (containers often do), first touch by a bound
// thread places them; check the result with sample_placement(). Throws Error for a domain that does not
// exist.
void bind_pages(void* data, std::uint64_t bytes, int numa_domain);

// Touches every page for writing without changing it. Returns false if there is not enough memory.
bool populate(void* data, std::uint64_t bytes);

// Maximum number of pages in a sample.
inline constexpr std::uint64_t kSampledPages = 4096;

// Returns the number of touched pages per NUMA domain, in a sample of at most kSampledPages evenly spaced
// pages. Empty if unknown.
std::map<int, std::uint64_t> sample_placement(const void* data, std::uint64_t bytes);

// The kernel's report of the memory area that contains `data`.
struct ResidentPages {
  std::uint64_t resident_bytes = 0;
  std::uint64_t huge_bytes = 0;  // of these, in transparent huge pages
};
ResidentPages resident_pages(const void* data);

}  // namespace byteways
