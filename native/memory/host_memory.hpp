// The host's own memory kinds, one allocator a file. Vendor runtimes build on them (a registered buffer is a
// pageable one that the vendor then locks).
#pragma once
#include <cstdint>
#include <memory>

#include "core/availability.hpp"
#include "memory/allocation.hpp"

namespace byteways {

// Base pages only: transparent huge pages are switched off for it, so that its page size is known.
// `numa_domain` >= 0 binds the pages there; -1 leaves them to first touch. Throws OutOfMemory.
std::unique_ptr<Allocation> allocate_pageable(std::uint64_t bytes, int numa_domain);

// Reserved huge pages (hugetlbfs) when enough are free, else transparent ones. Throws OutOfMemory,
// Unsupported.
std::unique_ptr<Allocation> allocate_hugepage(std::uint64_t bytes, int numa_domain);
Availability offers_hugepage();

// Maps either kind without guard pages, and without checking the available memory: the caller has done so.
// Throws OutOfMemory.
std::unique_ptr<Allocation> map_plain_pages(Memory memory, std::uint64_t bytes);
// Writes one byte of every base page, in the calling thread.
void touch_pages(void* data, std::uint64_t bytes);

// Returns the bytes of base pages that can still be used on `numa_domain` (-1: any) without triggering the
// out-of-memory killer: the available memory of the kernel, limited by the control groups of this process.
std::uint64_t memory_headroom(int numa_domain);

}  // namespace byteways
