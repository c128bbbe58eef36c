// Where addresses are: the ranges of memory that the driver has named, remembered by each thread.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "runtimes/copy_driver.hpp"

namespace byteways::copy_library {

// The ranges as one call sees them. A program may free memory between two calls, and get other memory at the
// same address: the first use of a range in each call asks the driver whether it is still the same
// allocation. Further blocks in it cost a comparison.
class MemoryRanges {
 public:
  explicit MemoryRanges(const Driver& driver);  // may throw std::bad_alloc, as find()
  // The range that holds the address. Valid until the next call of this function.
  const Extent& find(std::uintptr_t address) {
    const Known* found = slot_of(address);
    const bool known = found != nullptr && found->confirmed_in == memory_->call && found->holds(address);
    return known ? found->extent : look_up(address);
  }

 private:
  struct Known {
    Extent extent;
    std::uint64_t confirmed_in = 0;  // number of a call

    bool holds(std::uintptr_t address) const { return address - extent.begin < extent.end - extent.begin; }
  };
  static constexpr unsigned kPartBits = 21;  // 2 MiB, the granule of GPU memory
  static constexpr std::size_t kMostRanges = 4096;
  struct Memory {
    std::uint64_t call = 0;
    std::map<std::uintptr_t, Known> by_begin;  // disjoint
    std::array<Known*, 1024> by_part{};        // the range that was found last in each part of the addresses
  };
  Known*& slot_of(std::uintptr_t address) {
    return memory_->by_part[(address >> kPartBits) % memory_->by_part.size()];
  }
  const Extent& look_up(std::uintptr_t address);
  Known* holder_of(std::uintptr_t address);
  Known* ask(std::uintptr_t address);

  const Driver* driver_;
  Memory* memory_;
};

}  // namespace byteways::copy_library
