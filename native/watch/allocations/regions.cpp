// See regions.hpp.
#include "watch/allocations/regions.hpp"

#include <sched.h>

#include <atomic>

namespace byteways::watch::allocations {
namespace {

constexpr std::size_t kPlaces = 1 << 15, kMost = kPlaces / 2;
constinit Region regions[kPlaces]{};
constinit std::size_t taken = 0;
constinit std::atomic<std::size_t> waiting{0};  // regions of pages
constinit std::atomic<std::uint32_t> lock{0};

class Locked {
 public:
  Locked() { lock_regions(); }
  ~Locked() { unlock_regions(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

// Pages have addresses whose lower twelve bits are zero; neighbours must not collide.
std::size_t place_of(std::uintptr_t begin) { return (begin >> 12) * 0x9E3779B97F4A7C15u >> 49; }
static_assert(kPlaces == 1u << (64 - 49));

Region* found(std::uintptr_t begin) {
  for (std::size_t place = place_of(begin); regions[place].begin != 0; place = (place + 1) % kPlaces)
    if (regions[place].begin == begin) return &regions[place];
  return nullptr;
}

// Closes the gap that a removed region leaves: those behind it move up where they would not be found
// otherwise.
void remove(Region* region) {
  std::size_t gap = static_cast<std::size_t>(region - regions);
  for (std::size_t place = (gap + 1) % kPlaces; regions[place].begin != 0; place = (place + 1) % kPlaces) {
    const std::size_t home = place_of(regions[place].begin);
    if ((place - home) % kPlaces >= (place - gap) % kPlaces) {
      regions[gap] = regions[place];
      gap = place;
    }
  }
  regions[gap] = Region{};
  --taken;
}

}  // namespace

void lock_regions() noexcept {
  while (lock.exchange(1, std::memory_order_acquire) != 0) sched_yield();
}

void unlock_regions() noexcept { lock.store(0, std::memory_order_release); }

bool add_region(const Region& region) noexcept {
  const Locked locked;
  if (taken == kMost) return false;
  std::size_t place = place_of(region.begin);
  while (regions[place].begin != 0) place = (place + 1) % kPlaces;
  regions[place] = region;
  ++taken;
  if (region.owner == Owner::kPages) waiting.fetch_add(1, std::memory_order_relaxed);
  return true;
}

namespace {

// Calls act(region) under the lock, once no thread registers the region any more; false if none begins there.
template <class Act>
bool settled(const void* begin, Act act) {
  while (true) {
    {
      const Locked locked;
      Region* const region = found(reinterpret_cast<std::uintptr_t>(begin));
      if (region == nullptr) return false;
      if (region->owner != Owner::kRegistering) {
        act(region);
        return true;
      }
    }
    sched_yield();
  }
}

}  // namespace

bool take_region(const void* begin, Region& out) noexcept {
  return settled(begin, [&out](Region* region) {
    if (region->owner == Owner::kPages) waiting.fetch_sub(1, std::memory_order_relaxed);
    out = *region;
    remove(region);
  });
}

bool find_region(const void* begin, Region& out) noexcept {
  return settled(begin, [&out](const Region* region) { out = *region; });
}

void register_all(bool (*act)(void*, std::size_t)) noexcept {
  while (waiting.load(std::memory_order_relaxed) != 0) {
    Region chosen;
    {
      const Locked locked;
      for (Region& region : regions) {
        if (region.begin == 0 || region.owner != Owner::kPages) continue;
        region.owner = Owner::kRegistering;
        waiting.fetch_sub(1, std::memory_order_relaxed);
        chosen = region;
        break;
      }
    }
    if (chosen.begin == 0) return;
    const bool is_done = act(reinterpret_cast<void*>(chosen.begin), chosen.mapped);
    const Locked locked;
    if (Region* const region = found(chosen.begin))
      region->owner = is_done ? Owner::kRegistered : Owner::kRefused;
  }
}

}  // namespace byteways::watch::allocations
