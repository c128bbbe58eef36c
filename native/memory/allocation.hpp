// An owned memory allocation of any allocator.
#pragma once
#include <cstddef>
#include <cstdint>

#include "memory/kinds.hpp"

namespace byteways {

// Freed on destruction (which never throws).
class Allocation {
 public:
  virtual ~Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // Bytes from data() on that may be written: at least bytes(), and what a last page has beyond them.
  virtual std::uint64_t room_bytes() const { return bytes_; }
  // Page size in bytes; 0: unknown. Transparent huge pages are known only after the first touch.
  virtual std::uint64_t page_bytes() const { return page_bytes_; }
  Memory memory() const { return memory_; }

 protected:
  Allocation() = default;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t page_bytes_ = 0;
  Memory memory_ = Memory::pageable;
};

}  // namespace byteways
