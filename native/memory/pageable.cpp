// Pageable memory in base pages: like malloc without special settings.
#include <sys/mman.h>

#include "memory/host_memory.hpp"
#include "memory/mapping.hpp"
#include "memory/placement.hpp"

namespace byteways {
namespace {

// Both kinds of buffers start at the same offset within a huge page, so they differ only in page size.
constexpr std::uint64_t kAlignment = 2u << 20;

}  // namespace

std::unique_ptr<Allocation> allocate_pageable(std::uint64_t bytes, int numa_domain) {
  require_headroom(bytes, numa_domain);
  auto mapping = std::make_unique<Mapping>(Memory::pageable, bytes, kAlignment, 0, base_page_bytes());
  // Fails with EINVAL on kernels without transparent huge pages, which need no switching off.
  madvise(mapping->data(), mapping->mapped_bytes(), MADV_NOHUGEPAGE);
  if (numa_domain >= 0) bind_pages(mapping->data(), mapping->mapped_bytes(), numa_domain);
  return mapping;
}

}  // namespace byteways
