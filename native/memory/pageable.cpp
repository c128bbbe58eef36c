// Pageable memory in base pages: what malloc gives a program that asks for nothing special.
#include <sys/mman.h>

#include "memory/host_memory.hpp"
#include "memory/mapping.hpp"
#include "memory/placement.hpp"

namespace byteways {
namespace {

// Buffers of both kinds start at the same offset within a huge page, so that they differ in page size alone.
constexpr std::uint64_t kAlignment = 2u << 20;

}  // namespace

std::unique_ptr<Allocation> allocate_pageable(std::uint64_t bytes, int numa_domain) {
  require_headroom(bytes, numa_domain);
  auto mapping = std::make_unique<Mapping>(Memory::pageable, bytes, kAlignment, 0, base_page_bytes());
  // Fails with EINVAL on a kernel without transparent huge pages, where there is nothing to switch off.
  madvise(mapping->data(), mapping->mapped_bytes(), MADV_NOHUGEPAGE);
  if (numa_domain >= 0) bind_pages(mapping->data(), mapping->mapped_bytes(), numa_domain);
  return mapping;
}

}  // namespace byteways
