// The large allocations that have pages of their own. Memory is fixed; nothing here allocates, and nobody
// waits for another thread's call of a driver.
#pragma once
#include <cstddef>
#include <cstdint>

namespace byteways::watch::allocations {

// Whose memory a region is.
enum class Owner : std::uint8_t {
  kPages,        // pages of the operating system, to be registered
  kRegistering,  // a thread is about to
  kRefused,      // the driver does not register them, or nobody asks it to
  kRegistered,
  kPinned,    // allocated page-locked by a driver
  kManaged,   // allocated by a driver, migrating
  kAbandoned  // freed while a thread was registering it, which gives it back then
};

struct Region {
  std::uintptr_t begin = 0;           // 0: free place
  std::size_t asked = 0, mapped = 0;  // bytes
  Owner owner = Owner::kPages;
};

// Adds a region; false if there is no place.
bool add_region(const Region& region) noexcept;
// Takes the region that begins there out; false if none does. One that a thread registers is kAbandoned in
// `taken` and stays that thread's.
bool take_region(const void* begin, Region& taken) noexcept;
// Copies the region that begins there; false if none does.
bool find_region(const void* begin, Region& found) noexcept;
// Calls act(begin, mapped) for every region of pages, which says whether it has registered them, and
// give_back(region) for those that were freed meanwhile. No lock is held: a driver allocates and frees.
void register_all(bool (*act)(void* begin, std::size_t mapped), void (*give_back)(const Region&)) noexcept;

// Around fork(): the child lacks the threads that were registering, and the driver does not know its pages.
void lock_regions() noexcept;
void unlock_regions() noexcept;
void begin_regions_in_child(void (*give_back)(const Region&)) noexcept;

}  // namespace byteways::watch::allocations
