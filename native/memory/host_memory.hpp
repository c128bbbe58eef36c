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

// Either kind as one mapping with nothing around it, and without a question whether there is so much memory:
// for callers who asked. Throws OutOfMemory.
std::unique_ptr<Allocation> map_plain_pages(Memory memory, std::uint64_t bytes);
// Writes a byte of every base page from the calling thread.
void touch_pages(void* data, std::uint64_t bytes);

// Bytes of base pages that may still be used on `numa_domain` (-1: anywhere) without waking the out-of-memory
// killer: what the kernel calls available, capped by what the control groups of this process leave.
std::uint64_t memory_headroom(int numa_domain);

}  // namespace byteways
