// See large.hpp.
#include "watch/allocations/large.hpp"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "watch/allocations/driver.hpp"
#include "watch/allocations/next.hpp"
#include "watch/allocations/regions.hpp"
#include "watch/clock.hpp"
#include "watch/histogram.hpp"
#include "watch/names.hpp"
#include "watch/site.hpp"
#include "watch/snapshot.hpp"

namespace byteways::watch::allocations {
namespace {

// Set by the launcher (src/byteways/ext/watch/launching.py): the kind of memory, and the least size in bytes.
constexpr const char *kKindVariable = "BYTEWAYS_WATCH_MEMORY",
                     *kThresholdVariable = "BYTEWAYS_WATCH_THRESHOLD";
constexpr std::size_t kHugePage = 2 << 20;

enum class Kind { kRegistered, kPinned, kManaged, kHugePage };

constexpr std::size_t kNever = SIZE_MAX;
constinit std::atomic<std::size_t> threshold{kNever};  // until the constructor has read the variables
constinit Kind kind = Kind::kRegistered;
constinit bool changes_cpp = false, is_own_allocator = false;
constinit std::size_t page = 4096;
constinit pid_t process = 0;  // that registered; a child shares the pages and registered nothing
// Whether this thread is in here: a driver allocates, too. Without a call that could allocate.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool inside = false;
// Sizes that this thread's allocations keep.
[[gnu::tls_model("initial-exec")]] constinit thread_local std::size_t left_from = 0, left_to = 0;

// While it lives, this thread's allocations are not changed, and the program's errno stays.
class Inside {
 public:
  Inside() { inside = true; }
  ~Inside() {
    inside = before_;
    errno = error_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const bool before_ = inside;
  const int error_ = errno;
};

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

bool is_alignment(std::size_t bytes) { return bytes != 0 && (bytes & (bytes - 1)) == 0; }

// Pages with this alignment; null without room.
void* pages(std::size_t mapped, std::size_t alignment) {
  const std::size_t more = alignment > page ? alignment : 0;
  void* const found =
      mmap(nullptr, mapped + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  char* const first = static_cast<char*>(found);
  char* const begin =
      reinterpret_cast<char*>(rounded(reinterpret_cast<std::uintptr_t>(first), std::max(alignment, page)));
  if (begin != first) munmap(first, static_cast<std::size_t>(begin - first));
  const std::size_t behind = static_cast<std::size_t>(first + mapped + more - (begin + mapped));
  if (behind != 0) munmap(begin + mapped, behind);
  return begin;
}

// Memory of the kind that is tried, or else pages that are registered later. A driver promises no alignment
// beyond that of pages.
void* of_kind(std::size_t mapped, std::size_t alignment, Owner& owner) {
  if ((kind == Kind::kPinned || kind == Kind::kManaged) && alignment <= page) {
    owner = kind == Kind::kPinned ? Owner::kPinned : Owner::kManaged;
    if (void* const begin = kind == Kind::kPinned ? pinned(mapped) : managed(mapped)) return begin;
  }
  owner = kind == Kind::kRegistered || kind == Kind::kPinned ? Owner::kPages : Owner::kRefused;
  void* const begin = pages(mapped, kind == Kind::kHugePage ? std::max(alignment, kHugePage) : alignment);
  if (begin != nullptr && kind == Kind::kHugePage) madvise(begin, mapped, MADV_HUGEPAGE);
  return begin;
}

void give_back(const Region& region) {
  void* const begin = reinterpret_cast<void*>(region.begin);
  const bool is_own = getpid() == process;
  if (region.owner == Owner::kAbandoned) return;
  if (region.owner == Owner::kPinned || region.owner == Owner::kManaged) {
    if (is_own) region.owner == Owner::kPinned ? free_pinned(begin) : free_managed(begin);
    return;
  }
  if (region.owner == Owner::kRegistered && is_own) unregister_pages(begin);
  munmap(begin, region.mapped);
}

constexpr Memory memory_of(Owner owner) {
  if (owner == Owner::kRegistered || owner == Owner::kPinned) return Memory::kPinned;
  return owner == Owner::kManaged ? Memory::kManaged : Memory::kPageable;
}

void count(std::uint16_t method, std::size_t bytes, Owner owner, std::int64_t start, std::uint16_t site) {
  if (!is_watching()) return;
  const std::int64_t end = now();
  Key key{.what = What::kAllocation,
          .destination = memory_of(owner),
          .method = method,
          .site = site,
          .size = bytes};
  histogram().add(key, 1, Times{.call = time_between(start, end)}, end);
}

// An allocation that is to be changed and cannot be.
void* unchanged() {
  if (is_watching()) note_failure("allocations-unchanged");
  return nullptr;
}

// Registers pages that no other thread knows yet, and those of before the driver had a context.
void register_with_others(Region& region) {
  if (kind == Kind::kHugePage || getpid() != process || !has_context()) return;
  if (region.owner == Owner::kPages) {
    const bool is_done = register_pages(reinterpret_cast<void*>(region.begin), region.mapped);
    region.owner = is_done ? Owner::kRegistered : Owner::kRefused;
  }
  register_all(register_pages, give_back);
}

void begin_in_child() { begin_regions_in_child(give_back); }

void choose() {
  const char* text = std::getenv(kKindVariable);
  const char* least = std::getenv(kThresholdVariable);
  if (text == nullptr || least == nullptr) return;
  const std::string_view name = text;
  if (name == "pinned")
    kind = Kind::kPinned;
  else if (name == "managed")
    kind = Kind::kManaged;
  else if (name == "hugepage")
    kind = Kind::kHugePage;
  else if (name != "registered")
    return;
  process = getpid();
  const Changeable may = changeable();
  is_own_allocator = !may.c;
  if (is_own_allocator) return;
  changes_cpp = may.cpp;
  page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  pthread_atfork(lock_regions, unlock_regions, begin_in_child);
  if (kind != Kind::kHugePage) collect_before_snapshots(look_for_driver);
  threshold.store(std::max<std::size_t>(std::strtoull(least, nullptr, 10), page));
}

// Starts no thread, which a program that allocates nothing large may not have (unshare(2)).
[[gnu::constructor]] void begin() {
  next();
  name_library("memory");
  note_collector("memory");
  choose();
}

// Here, because such a program may call nothing of this library.
[[gnu::destructor]] void say_what_was_left_alone() {
  if (!is_own_allocator || getpid() != process || !is_watching()) return;
  note_failure("own-allocator");
  save(true);
}

bool may_be_ours(const void* begin) {
  return begin != nullptr && reinterpret_cast<std::uintptr_t>(begin) % page == 0 &&
         threshold.load(std::memory_order_relaxed) != kNever;
}

}  // namespace

// What a driver allocates for itself stays as it is: it has begun a call of its own, such as one that makes a
// context, and refuses to register memory meanwhile.
void* large(const char* method, std::size_t bytes, std::size_t alignment, const void* caller) noexcept {
  if (bytes < threshold.load(std::memory_order_relaxed) || inside || bytes > SIZE_MAX / 4) return nullptr;
  if ((bytes >= left_from && bytes <= left_to) || !is_alignment(alignment)) return nullptr;
  const Inside here;
  const std::uint16_t site = site_of(caller);
  if (site == 0) return unchanged();  // who calls is not known: it may be a driver
  if (is_of_driver(site) || is_ours(site)) return nullptr;
  const std::int64_t start = now();
  Region region{.asked = bytes, .mapped = rounded(bytes, kind == Kind::kHugePage ? kHugePage : page)};
  void* const begin = of_kind(region.mapped, std::max(alignment, page), region.owner);
  if (begin == nullptr) return unchanged();
  region.begin = reinterpret_cast<std::uintptr_t>(begin);
  register_with_others(region);
  if (!add_region(region)) {
    give_back(region);
    return unchanged();
  }
  count(number_of(method), bytes, region.owner, start, site);
  return begin;
}

bool freed(void* begin) noexcept {
  Region region;
  if (!may_be_ours(begin) || !take_region(begin, region)) return false;
  const Inside here;
  give_back(region);
  return true;
}

std::size_t usable(const void* begin) noexcept {
  Region region;
  return may_be_ours(begin) && find_region(begin, region) ? region.mapped : 0;
}

void* large_new(const char* method, std::size_t bytes, std::size_t alignment, const void* caller) noexcept {
  return changes_cpp ? large(method, bytes, alignment, caller) : nullptr;
}

bool freed_new(void* begin) noexcept { return changes_cpp && freed(begin); }

void leave_alone(std::size_t bytes, std::size_t alignment) noexcept {
  left_from = bytes;
  left_to = is_alignment(alignment) ? rounded(bytes, alignment) : bytes;
}

}  // namespace byteways::watch::allocations
