// The blocks of one call: what they are, whether they overlap, and where their memory is.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtimes/copy_driver.hpp"

namespace byteways::copy_library {

struct Blocks {
  void* const* to = nullptr;
  const void* const* from = nullptr;
  const std::size_t* sizes = nullptr;  // nullptr: all have `block_bytes`
  std::size_t block_bytes = 0;
  std::size_t count = 0;

  std::size_t bytes(std::size_t k) const { return sizes == nullptr ? block_bytes : sizes[k]; }
  std::uintptr_t destination(std::size_t k) const { return reinterpret_cast<std::uintptr_t>(to[k]); }
  std::uintptr_t source(std::size_t k) const { return reinterpret_cast<std::uintptr_t>(from[k]); }
};

// What one pass over the blocks finds.
struct Survey {
  std::size_t null_block = SIZE_MAX;  // the first with a null pointer and bytes to copy
  std::uint64_t total_bytes = 0;
  std::size_t empty = 0;  // blocks of 0 bytes
  std::size_t largest = 0;
  bool uniform = true;      // all have the size of the first
  std::uintptr_t bits = 0;  // of all addresses and sizes, or-ed: multiples of 16 have none below 16
  std::uintptr_t first_write = UINTPTR_MAX, end_of_writes = 0;
  std::uintptr_t first_read = UINTPTR_MAX, end_of_reads = 0;
};
Survey survey(const Blocks& blocks);

// Two blocks of which the result would depend on the order.
struct Conflict {
  std::size_t writer, other;
  bool other_writes;  // false: it reads
};
// Blocks of one size are compared in a hash table, in constant time each; others are sorted. May throw
// std::bad_alloc.
std::optional<Conflict> find_conflict(const Blocks& blocks, const Survey& seen);

// The places of addresses. The driver is asked once for each allocation of a call, and not for each block;
// what it says is not kept for later calls, because the memory may be another's by then.
class Extents {
 public:
  explicit Extents(const Driver& driver) : driver_(&driver), known_(&known()) {
    known_->extents.clear();
    known_->by_address.fill(0);
  }
  // The place that the range begins and ends in; kUnknown if the two differ.
  int place_of(std::uintptr_t begin, std::size_t bytes) {
    const Extent first = find(begin);
    closed_ |= !first.open_to_peers;
    if (first.end - begin >= bytes) return first.place;
    const Extent& last = find(begin + bytes - 1);
    closed_ |= !last.open_to_peers;
    return last.place == first.place ? first.place : kUnknown;
  }
  // Whether all memory since the last call of this function is open to peers.
  bool all_open() { return !std::exchange(closed_, false); }

 private:
  static constexpr unsigned kPartBits = 21;  // 2 MiB, the granule of GPU memory
  struct Known {
    std::vector<Extent> extents;
    std::array<std::uint16_t, 1024> by_address{};  // numbers in `extents` from 1 on; 0: none
  };
  static Known& known();  // of this thread
  const Extent& find(std::uintptr_t address);

  const Driver* driver_;
  Known* known_;
  bool closed_ = false;
};

}  // namespace byteways::copy_library
