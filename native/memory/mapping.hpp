// Anonymous memory between two inaccessible guard pages: a mover that runs past its buffer faults instead of
// overwriting the next one. The kernel cannot merge two buffers into one area, so its report of an area
// concerns one buffer only.
#pragma once
#include <cstdint>

#include "memory/allocation.hpp"

namespace byteways {

class Mapping : public Allocation {
 public:
  // `alignment` of the start; the length is rounded up to it. `flags` are added to mmap's (MAP_HUGETLB).
  // `page_bytes` is the size of the pages when known beforehand, else 0.
  Mapping(Memory memory, std::uint64_t bytes, std::uint64_t alignment, int flags, std::uint64_t page_bytes);
  ~Mapping() override;

  std::uint64_t mapped_bytes() const { return mapped_bytes_; }
  std::uint64_t room_bytes() const override { return mapped_bytes_; }

 private:
  void* reserved_ = nullptr;
  std::uint64_t reserved_bytes_ = 0;
  std::uint64_t mapped_bytes_ = 0;
};

std::uint64_t base_page_bytes();
// Returns the name of an errno value of a memory call, as "ENOMEM".
const char* errno_name(int code);
// Throws OutOfMemory if `bytes` exceed memory_headroom(numa_domain).
void require_headroom(std::uint64_t bytes, int numa_domain);

}  // namespace byteways
