// See placement.hpp.
#include "memory/placement.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "core/text.hpp"
#include "memory/mapping.hpp"

namespace byteways {
namespace {

// Values of <linux/mempolicy.h> and <linux/mman.h>, missing in the headers of old systems.
constexpr int kBind = 2;            // MPOL_BIND
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14
constexpr unsigned kBitsPerWord = 8 * sizeof(unsigned long);

}  // namespace

std::vector<int> memory_domains() {
  std::vector<int> domains = parse_cpu_list(read_line("/sys/devices/system/node/has_memory"));
  return domains.empty() ? std::vector<int>{0} : domains;
}

void bind_pages(void* data, std::uint64_t bytes, int numa_domain) {
  const std::vector<int> domains = memory_domains();
  if (std::find(domains.begin(), domains.end(), numa_domain) == domains.end())
    throw Error("mbind", "EINVAL", "this system has no memory on NUMA domain " + std::to_string(numa_domain));
  if (domains.size() == 1) return;  // no other domain exists
  std::vector<unsigned long> mask(static_cast<unsigned>(numa_domain) / kBitsPerWord + 1);
  mask.back() = 1ul << (static_cast<unsigned>(numa_domain) % kBitsPerWord);
  // The kernel reads one bit less than specified.
  const unsigned long bits = mask.size() * kBitsPerWord + 1;
  if (syscall(SYS_mbind, data, bytes, kBind, mask.data(), bits, 0) == 0) return;
  if (errno == EPERM || errno == ENOSYS) return;
  throw Error("mbind", errno_name(errno),
              std::string(std::strerror(errno)) + ", binding to NUMA domain " + std::to_string(numa_domain));
}

bool populate(void* data, std::uint64_t bytes) {
  return madvise(data, bytes, kPopulateWrite) == 0 ||
         errno == EINVAL;  // EINVAL: the kernel is too old to support the query
}

std::map<int, std::uint64_t> sample_placement(const void* data, std::uint64_t bytes) {
  const std::uint64_t page = base_page_bytes();
  const std::uint64_t pages = (bytes + page - 1) / page;
  const std::uint64_t count = std::min(pages, kSampledPages);
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(data) / page * page;
  std::vector<void*> addresses(count);
  for (std::uint64_t k = 0; k < count; ++k)
    addresses[k] = reinterpret_cast<void*>(first + pages * k / count * page);
  std::vector<int> status(count, -ENOENT);
  std::map<int, std::uint64_t> placement;
  if (syscall(SYS_move_pages, 0, count, addresses.data(), nullptr, status.data(), 0) == 0) {
    for (int domain : status)
      if (domain >= 0) ++placement[domain];  // negative: not touched, or not a page of this process
    return placement;
  }
  const std::vector<int> domains = memory_domains();
  if (domains.size() == 1)
    placement[domains.front()] = count;  // the query is forbidden, but only one domain exists
  return placement;
}

ResidentPages resident_pages(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  std::ifstream file("/proc/self/smaps");
  ResidentPages residency;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    // An area begins with "7f12…-7f13… rw-p …"; its attributes are "Name:   number kB".
    const std::size_t dash = line.find('-');
    const std::size_t colon = line.find(':');
    if (dash != std::string::npos && (colon == std::string::npos || dash < colon)) {
      if (inside) break;
      const std::uintptr_t begin = std::stoull(line, nullptr, 16);
      const std::uintptr_t end = std::stoull(line.substr(dash + 1), nullptr, 16);
      inside = begin <= address && address < end;
    } else if (inside && line.starts_with("Rss:")) {
      residency.resident_bytes = std::stoull(line.substr(4)) * 1024;
    } else if (inside && line.starts_with("AnonHugePages:")) {
      residency.huge_bytes = std::stoull(line.substr(14)) * 1024;
    }
  }
  return residency;
}

}  // namespace byteways
