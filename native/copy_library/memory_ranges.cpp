// See memory_ranges.hpp.
#include "copy_library/memory_ranges.hpp"

#include "copy_library/thread_state.hpp"

namespace byteways::copy_library {

MemoryRanges::MemoryRanges(const Driver& driver) : driver_(&driver), memory_(&of_this_thread<Memory>()) {
  ++memory_->call;
  if (memory_->by_begin.size() <= kMostRanges) return;
  memory_->by_part.fill(nullptr);
  memory_->by_begin.clear();
}

const Extent& MemoryRanges::look_up(std::uintptr_t address) {
  Known* found = holder_of(address);
  if (found == nullptr) {
    found = ask(address);
  } else if (found->confirmed_in != memory_->call) {
    // Without an identity nobody knows whether the memory is still the same.
    const std::uint64_t identity = found->extent.identity;
    if (identity != 0 && driver_->identity(reinterpret_cast<const void*>(address)) == identity)
      found->confirmed_in = memory_->call;
    else
      found = ask(address);
  }
  slot_of(address) = found;
  return found->extent;
}

MemoryRanges::Known* MemoryRanges::holder_of(std::uintptr_t address) {
  const auto after = memory_->by_begin.upper_bound(address);
  if (after == memory_->by_begin.begin()) return nullptr;
  Known& before = std::prev(after)->second;
  return before.holds(address) ? &before : nullptr;
}

// Replaces all that was known of these addresses.
MemoryRanges::Known* MemoryRanges::ask(std::uintptr_t address) {
  const Extent extent = driver_->extent(reinterpret_cast<const void*>(address));
  auto& ranges = memory_->by_begin;
  auto first = ranges.upper_bound(extent.begin);
  if (first != ranges.begin() && std::prev(first)->second.extent.end > extent.begin) --first;
  const auto last = ranges.lower_bound(extent.end);
  if (first != last) {
    memory_->by_part.fill(nullptr);
    ranges.erase(first, last);
  }
  return &(ranges[extent.begin] = {extent, memory_->call});
}

}  // namespace byteways::copy_library
