// The blocks of one call: what they are, where their memory is, and whether they overlap.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

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

struct Survey;

// The blocks of a call that have bytes, in order. Every method copies this list, and none looks at the empty
// blocks of the caller's arrays.
class NonEmpty : public Blocks {
 public:
  NonEmpty() = default;
  // Without empty blocks the arrays are the caller's own, else those of this thread until it asks again. May
  // throw std::bad_alloc.
  NonEmpty(const Blocks& blocks, const Survey& seen);
};

// All that the blocks write, or all that they read.
struct Side {
  std::uintptr_t first = UINTPTR_MAX, end = 0;
  std::uintptr_t bits = 0;    // of all addresses and sizes, or-ed: multiples of 16 have none below 16
  int place = kUnknown;       // of all of it
  bool open_to_peers = true;  // all of it

  void add(std::uintptr_t begin, std::size_t bytes) {
    first = std::min(first, begin);
    end = std::max(end, begin + std::min(bytes, UINTPTR_MAX - begin));
    bits |= begin | bytes;
  }
};

// What one pass over the blocks finds.
struct Survey {
  std::size_t null_block = SIZE_MAX;  // the first with a null pointer and bytes to copy
  std::uint64_t total_bytes = 0;
  std::size_t empty = 0;  // blocks of 0 bytes
  std::size_t largest = 0;
  bool uniform = true;  // all that are not empty have one size
  Side written, read;
};
// Without a driver the places are not looked for. May throw std::bad_alloc.
Survey survey(const Blocks& blocks, const Driver* driver);

// Two blocks of which the result would depend on the order.
struct Conflict {
  std::size_t writer, other;
  bool other_writes;  // false: it reads
};
// May throw std::bad_alloc.
std::optional<Conflict> find_conflict(const Blocks& blocks, const Survey& seen);

}  // namespace byteways::copy_library
