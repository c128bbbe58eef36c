// Huge pages, to reduce address translation: reserved ones if configured by an administrator, otherwise
// transparent ones. The page size of a transparent mapping is read from the kernel, not assumed.
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "memory/host_memory.hpp"
#include "memory/mapping.hpp"
#include "memory/placement.hpp"

namespace byteways {
namespace {

constexpr const char* kTransparent = "/sys/kernel/mm/transparent_hugepage/";

std::uint64_t read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  file >> value;
  return value;
}

std::uint64_t transparent_page_bytes() {
  const std::uint64_t bytes = read_number(std::string(kTransparent) + "hpage_pmd_size");
  return bytes != 0 ? bytes : 2u << 20;  // the file exists since Linux 4.6
}

// The default page size of MAP_HUGETLB; 0 if the kernel has no reserved pages at all.
std::uint64_t reserved_page_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Hugepagesize:")) return std::stoull(line.substr(13)) * 1024;
  return 0;
}

// Free, unreserved huge pages on a domain (-1: on any).
std::uint64_t free_reserved_pages(std::uint64_t page_bytes, int numa_domain) {
  if (page_bytes == 0) return 0;
  const std::string pool = "/hugepages/hugepages-" + std::to_string(page_bytes / 1024) + "kB/";
  const std::string everywhere = "/sys/kernel/mm" + pool;
  const std::uint64_t free = read_number(everywhere + "free_hugepages");
  const std::uint64_t promised = read_number(everywhere + "resv_hugepages");
  const std::uint64_t unpromised = free > promised ? free - promised : 0;
  if (numa_domain < 0) return unpromised;
  const std::string there = "/sys/devices/system/node/node" + std::to_string(numa_domain) + pool;
  return std::min(unpromised, read_number(there + "free_hugepages"));
}

bool transparent_allowed() {
  std::ifstream file(std::string(kTransparent) + "enabled");
  std::string line;
  return std::getline(file, line) && line.find("[never]") == std::string::npos;
}

// A transparent mapping: the kernel decides its page size on first touch.
class TransparentMapping final : public Mapping {
 public:
  TransparentMapping(std::uint64_t bytes, std::uint64_t huge)
      : Mapping(Memory::hugepage, bytes, huge, 0, 0), huge_(huge) {}

  // 0 before first touch, or if only part of the mapping is huge.
  std::uint64_t page_bytes() const override {
    const ResidentPages residency = resident_pages(data());
    if (residency.resident_bytes == 0) return 0;
    if (residency.huge_bytes == residency.resident_bytes) return huge_;
    return residency.huge_bytes == 0 ? base_page_bytes() : 0;
  }

 private:
  std::uint64_t huge_;
};

std::unique_ptr<Allocation> allocate_reserved(std::uint64_t bytes, std::uint64_t page, int numa_domain) {
  auto mapping = std::make_unique<Mapping>(Memory::hugepage, bytes, page, MAP_HUGETLB, page);
  if (numa_domain >= 0) {
    bind_pages(mapping->data(), mapping->mapped_bytes(), numa_domain);
    // Reservations are machine-wide, so a missing page on this domain would raise SIGBUS on first touch.
    // Populating now returns an error instead.
    if (!populate(mapping->data(), mapping->mapped_bytes()))
      throw OutOfMemory(
          "madvise", "ENOMEM",
          "reserved huge pages of NUMA domain " + std::to_string(numa_domain) + " were taken meanwhile");
  }
  return mapping;
}

}  // namespace

Availability offers_hugepage() {
  if (transparent_allowed() || free_reserved_pages(reserved_page_bytes(), -1) > 0) return {true, {}};
  return {false, "transparent huge pages are switched off on this system (" + std::string(kTransparent) +
                     "enabled says never) and no huge pages are reserved"};
}

std::unique_ptr<Allocation> allocate_hugepage(std::uint64_t bytes, int numa_domain) {
  const std::uint64_t reserved = reserved_page_bytes();
  if (reserved != 0 && free_reserved_pages(reserved, numa_domain) > (bytes - 1) / reserved)
    return allocate_reserved(bytes, reserved, numa_domain);
  if (!transparent_allowed()) {
    const Availability offered = offers_hugepage();
    if (!offered.available) throw Unsupported("mmap", "hugepage", offered.reason);
    throw OutOfMemory("mmap", "ENOMEM",
                      "not enough huge pages are reserved for " + std::to_string(bytes) + " bytes");
  }
  require_headroom(bytes, numa_domain);
  const std::uint64_t huge = transparent_page_bytes();
  auto mapping = std::make_unique<TransparentMapping>(bytes, huge);
  madvise(mapping->data(), mapping->mapped_bytes(), MADV_HUGEPAGE);  // if refused, page_bytes() shows it
  if (numa_domain >= 0) bind_pages(mapping->data(), mapping->mapped_bytes(), numa_domain);
  return mapping;
}

}  // namespace byteways
