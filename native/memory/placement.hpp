// Where pages are: asked for by policy, then checked with the kernel. Raw system calls, so that no libnuma is
// needed.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

namespace byteways {

// Numbers of the NUMA domains that have memory; {0} when the system does not tell.
std::vector<int> memory_domains();

// Binds untouched pages to a domain. Where the system forbids it (containers often do), the pages are left to
// first touch by a bound thread, and sample_placement() tells what came of it. Throws Error for a domain that
// does not exist.
void bind_pages(void* data, std::uint64_t bytes, int numa_domain);

// Touches every page for writing without changing it; false when there is no memory for it.
bool populate(void* data, std::uint64_t bytes);

// Pages that a sample has at most.
inline constexpr std::uint64_t kSampledPages = 4096;

// NUMA domain -> touched pages, of a sample of at most kSampledPages evenly spaced pages. Empty when the
// system does not tell.
std::map<int, std::uint64_t> sample_placement(const void* data, std::uint64_t bytes);

// What the kernel says of the memory area that holds `data`.
struct Residency {
  std::uint64_t resident_bytes = 0;
  std::uint64_t huge_bytes = 0;  // of these, in transparent huge pages
};
Residency residency_of(const void* data);

}  // namespace byteways
