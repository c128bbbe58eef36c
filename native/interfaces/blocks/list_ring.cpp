// See list_ring.hpp.
#include "interfaces/blocks/list_ring.hpp"

#include <algorithm>

namespace byteways {
namespace {

// An event for each launch would cost a device as much as a small launch.
constexpr std::uint64_t kGroups = 4, kListsOfAGroup = 16, kLists = kGroups * kListsOfAGroup;
// Of one allocation: a simulated machine reads blocks of less than 1 MiB that the host has written.
constexpr std::uint64_t kMostBytes = (1 << 20) - 4096;

}  // namespace

ListRing::ListRing(Device& device, std::uint64_t blocks_of_a_list) : device_(&device) {
  const std::uint64_t bytes = blocks_of_a_list * sizeof(BlockPair);
  const std::uint64_t together = std::clamp<std::uint64_t>(kMostBytes / bytes, 1, kLists);
  while (lists_.size() < kLists) {
    memory_.push_back(device.runtime->allocate(Memory::pinned, device.ordinal, together * bytes, -1));
    for (std::uint64_t k = 0; k < together && lists_.size() < kLists; ++k)
      lists_.push_back(reinterpret_cast<BlockPair*>(memory_.back()->data() + k * bytes));
  }
  for (std::uint64_t k = 0; k < kGroups; ++k) ends_.push_back(device.runtime->create_event(device.ordinal));
}

std::uint64_t ListRing::most_launches() { return kLists - kListsOfAGroup; }

BlockPair* ListRing::next() {
  const std::uint64_t list = taken_ % kLists;
  if (taken_ >= kLists && list % kListsOfAGroup == 0)
    device_->runtime->synchronize(*ends_[list / kListsOfAGroup]);
  ++taken_;
  return lists_[list];
}

void ListRing::launched(Stream& stream) {
  const std::uint64_t list = (taken_ - 1) % kLists;
  if (list % kListsOfAGroup == kListsOfAGroup - 1)
    device_->runtime->record(*ends_[list / kListsOfAGroup], stream);
}

}  // namespace byteways
