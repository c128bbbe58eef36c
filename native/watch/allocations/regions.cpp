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

bool take_region(const void* begin, Region& out) noexcept {
  const Locked locked;
  Region* const region = found(reinterpret_cast<std::uintptr_t>(begin));
  if (region == nullptr) return false;
  if (region->owner == Owner::kRegistering) {
    region->owner = Owner::kAbandoned;
    out = *region;
    return true;
  }
  if (region->owner == Owner::kPages) waiting.fetch_sub(1, std::memory_order_relaxed);
  out = *region;
  remove(region);
  return true;
}

bool find_region(const void* begin, Region& out) noexcept {
  const Locked locked;
  const Region* const region = found(reinterpret_cast<std::uintptr_t>(begin));
  if (region != nullptr) out = *region;
  return region != nullptr;
}

void register_all(bool (*act)(void*, std::size_t), void (*give_back)(const Region&)) noexcept {
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
    chosen.owner =
        act(reinterpret_cast<void*>(chosen.begin), chosen.mapped) ? Owner::kRegistered : Owner::kRefused;
    bool is_abandoned = false;
    {
      const Locked locked;
      Region* const region = found(chosen.begin);
      is_abandoned = region->owner == Owner::kAbandoned;
      if (is_abandoned)
        remove(region);
      else
        region->owner = chosen.owner;
    }
    if (is_abandoned) give_back(chosen);
  }
}

void begin_regions_in_child(void (*give_back)(const Region&)) noexcept {
  for (Region& region : regions)
    if (region.owner == Owner::kRegistering || region.owner == Owner::kPages) region.owner = Owner::kRefused;
  waiting.store(0, std::memory_order_relaxed);
  // A place that is emptied is filled from behind it, beyond the end from the first ones.
  for (std::size_t at = 0; at < 2 * kPlaces; ++at)
    while (regions[at % kPlaces].begin != 0 && regions[at % kPlaces].owner == Owner::kAbandoned) {
      Region abandoned = regions[at % kPlaces];
      abandoned.owner = Owner::kRefused;
      remove(&regions[at % kPlaces]);
      give_back(abandoned);
    }
  unlock_regions();
}

}  // namespace byteways::watch::allocations
