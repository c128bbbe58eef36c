// See blocks.hpp.
#include "copy_library/blocks.hpp"

#include <algorithm>
#include <bit>

namespace byteways::copy_library {
namespace {

// The destinations of blocks of one size by address: buckets of the largest power of two within a block, each
// of which can hold one destination only, because two would overlap.
class Destinations {
 public:
  explicit Destinations(const Blocks& blocks)
      : blocks_(&blocks),
        shift_(std::bit_width(blocks.block_bytes) - 1),
        hash_shift_(64 - std::bit_width(2 * blocks.count)) {
    static thread_local std::vector<std::uint32_t> kept;  // the pages stay mapped between calls
    slots_ = &kept;
    kept.assign(std::size_t{1} << (64 - hash_shift_), 0);
  }

  // Returns the block that begins in the same bucket; otherwise adds this one.
  std::optional<std::size_t> add(std::size_t k) {
    const std::uintptr_t bucket = blocks_->destination(k) >> shift_;
    std::uint32_t* slot = slot_of(bucket);
    if (*slot != 0) return *slot - 1;
    *slot = static_cast<std::uint32_t>(k + 1);
    return std::nullopt;
  }

  // Returns a block that writes a part of [begin, begin + block_bytes) and for which `counts` holds.
  template <class Counts>
  std::optional<std::size_t> writer_of(std::uintptr_t begin, const Counts& counts) const {
    const std::size_t bytes = blocks_->block_bytes;
    const std::uintptr_t lowest = begin < bytes ? 0 : begin - bytes + 1;
    for (std::uintptr_t bucket = lowest >> shift_; bucket <= (begin + bytes - 1) >> shift_; ++bucket) {
      const std::uint32_t found = *slot_of(bucket);
      if (found == 0) continue;
      const std::uintptr_t other = blocks_->destination(found - 1);
      if (other < begin + bytes && begin < other + bytes && counts(found - 1)) return found - 1;
    }
    return std::nullopt;
  }

 private:
  std::uint32_t* slot_of(std::uintptr_t bucket) const {
    std::vector<std::uint32_t>& slots = *slots_;
    std::size_t at = (bucket * 0x9E3779B97F4A7C15ull) >> hash_shift_;  // Fibonacci hashing
    while (slots[at] != 0 && blocks_->destination(slots[at] - 1) >> shift_ != bucket)
      at = (at + 1) & (slots.size() - 1);
    return &slots[at];
  }

  const Blocks* blocks_;
  int shift_, hash_shift_;
  std::vector<std::uint32_t>* slots_;
};

bool is_same(const Blocks& blocks, std::size_t one, std::size_t other) {
  return blocks.to[one] == blocks.to[other] && blocks.from[one] == blocks.from[other] &&
         blocks.bytes(one) == blocks.bytes(other);
}
// A block that is copied onto itself changes nothing, whatever else reads it.
bool changes(const Blocks& blocks, std::size_t k) { return blocks.to[k] != blocks.from[k]; }

std::optional<Conflict> conflict_of_uniform(const Blocks& blocks, bool reads) {
  Destinations table(blocks);
  const bool aligned = std::has_single_bit(blocks.block_bytes);
  std::uintptr_t bits = 0;
  for (std::size_t k = 0; k < blocks.count; ++k) {
    bits |= blocks.destination(k);
    const std::optional<std::size_t> other = table.add(k);
    if (other && !is_same(blocks, *other, k)) return Conflict{*other, k, true};
  }
  if (!aligned || (bits & (blocks.block_bytes - 1)) != 0)
    for (std::size_t k = 0; k < blocks.count; ++k)
      if (const auto other = table.writer_of(blocks.destination(k),
                                             [&](std::size_t j) { return j != k && !is_same(blocks, j, k); }))
        return Conflict{*other, k, true};
  if (reads)
    for (std::size_t k = 0; k < blocks.count; ++k)
      if (const auto other =
              table.writer_of(blocks.source(k), [&](std::size_t j) { return changes(blocks, j); }))
        return Conflict{*other, k, false};
  return std::nullopt;
}

std::optional<Conflict> conflict_of_mixed(const Blocks& blocks, bool reads) {
  static thread_local std::vector<std::size_t> order;
  order.clear();
  for (std::size_t k = 0; k < blocks.count; ++k)
    if (blocks.bytes(k) != 0) order.push_back(k);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return blocks.to[a] < blocks.to[b]; });
  const auto end_of = [&](std::size_t k) { return blocks.destination(k) + blocks.bytes(k); };
  std::size_t kept = 0;  // the repetitions of a block are left out
  for (const std::size_t k : order) {
    if (kept != 0 && is_same(blocks, order[kept - 1], k)) continue;
    if (kept != 0 && blocks.destination(k) < end_of(order[kept - 1]))
      return Conflict{order[kept - 1], k, true};
    order[kept++] = k;
  }
  if (!reads) return std::nullopt;
  order.resize(kept);
  for (std::size_t k = 0; k < blocks.count; ++k) {
    const std::uintptr_t begin = blocks.source(k), end = begin + blocks.bytes(k);
    const auto after = std::partition_point(order.begin(), order.end(),
                                            [&](std::size_t j) { return blocks.destination(j) < end; });
    for (auto at = after; at != order.begin() && end_of(*(at - 1)) > begin; --at)
      if (changes(blocks, *(at - 1)) && begin != end) return Conflict{*(at - 1), k, false};
  }
  return std::nullopt;
}

}  // namespace

Survey survey(const Blocks& blocks) {
  Survey seen;
  const std::size_t first = blocks.count == 0 ? 0 : blocks.bytes(0);
  for (std::size_t k = 0; k < blocks.count; ++k) {
    const std::size_t bytes = blocks.bytes(k);
    seen.uniform &= bytes == first;
    if (bytes == 0) {
      ++seen.empty;
      continue;
    }
    const std::uintptr_t to = blocks.destination(k), from = blocks.source(k);
    if ((to == 0 || from == 0) && seen.null_block == SIZE_MAX) seen.null_block = k;
    seen.total_bytes += bytes;
    seen.largest = std::max(seen.largest, bytes);
    seen.bits |= to | from | bytes;
    seen.first_write = std::min(seen.first_write, to);
    seen.end_of_writes = std::max(seen.end_of_writes, to + bytes);
    seen.first_read = std::min(seen.first_read, from);
    seen.end_of_reads = std::max(seen.end_of_reads, from + bytes);
  }
  return seen;
}

std::optional<Conflict> find_conflict(const Blocks& blocks, const Survey& seen) {
  const bool reads = seen.first_write < seen.end_of_reads && seen.first_read < seen.end_of_writes;
  if (blocks.count < 2 && !reads) return std::nullopt;
  if (!seen.uniform || blocks.count >= UINT32_MAX / 2) return conflict_of_mixed(blocks, reads);
  Blocks uniform = blocks;
  uniform.block_bytes = seen.largest;
  uniform.sizes = nullptr;
  return conflict_of_uniform(uniform, reads);
}

Extents::Known& Extents::known() {
  static thread_local Known extents;
  return extents;
}

// The blocks of a call lie in few allocations, in any order: a table by parts of addresses finds most of them
// without a search.
const Extent& Extents::find(std::uintptr_t address) {
  const auto holds = [&](const Extent& extent) { return extent.begin <= address && address < extent.end; };
  std::uint16_t& slot = known_->by_address[(address >> kPartBits) % known_->by_address.size()];
  if (slot != 0 && holds(known_->extents[slot - 1u])) return known_->extents[slot - 1u];
  auto found = std::find_if(known_->extents.begin(), known_->extents.end(), holds);
  if (found == known_->extents.end()) {
    known_->extents.push_back(driver_->extent(reinterpret_cast<const void*>(address)));
    found = known_->extents.end() - 1;
  }
  const auto number = static_cast<std::size_t>(found - known_->extents.begin()) + 1;
  if (number <= UINT16_MAX) slot = static_cast<std::uint16_t>(number);
  return *found;
}

}  // namespace byteways::copy_library
