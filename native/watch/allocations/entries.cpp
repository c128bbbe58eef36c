// Large allocations of a program in another kind of memory, for `byteways watch --try`. Preloaded: the
// program's sources and results stay as they are. An allocation of at least the threshold gets pages of its
// own or memory of the driver; smaller ones are the C library's.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "watch/allocations/driver.hpp"
#include "watch/allocations/regions.hpp"
#include "watch/clock.hpp"
#include "watch/histogram.hpp"
#include "watch/names.hpp"
#include "watch/site.hpp"
#include "watch/snapshot.hpp"

// The C library's own, by names that no preloaded library replaces (glibc).
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace byteways::watch::allocations {
namespace {

// Set by the launcher (src/byteways/watch/launching.py): the kind of memory, and the least size in bytes.
constexpr const char *kKindVariable = "BYTEWAYS_WATCH_MEMORY",
                     *kThresholdVariable = "BYTEWAYS_WATCH_THRESHOLD";
constexpr std::size_t kPage = 4096, kHugePage = 2 << 20;

enum class Kind { kRegistered, kPinned, kManaged, kHugePage };

constinit Kind kind = Kind::kRegistered;
constinit std::size_t threshold = SIZE_MAX;  // until the constructor has read the variables
constinit pid_t process = 0;  // that registered; a child shares the pages and registered nothing
// Whether this thread is in here: a driver allocates, too. Without a call that could allocate.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool inside = false;

[[gnu::constructor]] void begin() {
  name_library("memory");
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
  pthread_atfork(lock_regions, unlock_regions, unlock_regions);
  threshold = std::max<std::size_t>(std::strtoull(least, nullptr, 10), kPage);
  if (is_watching()) note_collector("memory");
}

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// Pages with this alignment; null without room.
void* pages(std::size_t mapped, std::size_t alignment) {
  const std::size_t more = alignment > kPage ? alignment : 0;
  void* const found =
      mmap(nullptr, mapped + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  char* const first = static_cast<char*>(found);
  char* const begin =
      reinterpret_cast<char*>(rounded(reinterpret_cast<std::uintptr_t>(first), std::max(alignment, kPage)));
  if (begin != first) munmap(first, static_cast<std::size_t>(begin - first));
  const std::size_t behind = static_cast<std::size_t>(first + mapped + more - (begin + mapped));
  if (behind != 0) munmap(begin + mapped, behind);
  return begin;
}

// Memory of the kind that is tried, or else pages that are registered later. A driver promises no alignment
// beyond that of pages.
void* of_kind(std::size_t mapped, std::size_t alignment, Owner& owner) {
  if ((kind == Kind::kPinned || kind == Kind::kManaged) && alignment <= kPage) {
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
  if (region.owner == Owner::kPinned || region.owner == Owner::kManaged) {
    if (is_own) region.owner == Owner::kPinned ? free_pinned(begin) : free_managed(begin);
    return;
  }
  if (region.owner == Owner::kRegistered && is_own) unregister_pages(begin);
  munmap(begin, region.mapped);
}

constexpr Memory kMemoryOf[] = {Memory::kPageable, Memory::kPageable, Memory::kPageable,
                                Memory::kPinned,   Memory::kPinned,   Memory::kManaged};

void count(std::uint16_t method, std::size_t bytes, Owner owner, std::int64_t start, std::uint16_t site) {
  if (!is_watching()) return;
  const std::int64_t end = now();
  Key key{.what = What::kAllocation,
          .destination = kMemoryOf[static_cast<int>(owner)],
          .method = method,
          .site = site,
          .size = bytes};
  histogram().add(key, 1, Times{.call = end - start}, end);
}

// Allocates in other memory; null: the C library shall. What a driver allocates for itself stays as it is: it
// has begun a call of its own, such as one that makes a context, and refuses to register memory meanwhile.
void* large(const char* method, std::size_t bytes, std::size_t alignment, const void* caller) {
  if (bytes < threshold || inside || bytes > SIZE_MAX / 2) return nullptr;
  inside = true;
  const std::uint16_t site = site_of(caller);
  if (is_of_driver(site) || is_ours(site)) {
    inside = false;
    return nullptr;
  }
  const std::int64_t start = now();
  Region region{.asked = bytes, .mapped = rounded(bytes, kind == Kind::kHugePage ? kHugePage : kPage)};
  void* begin = of_kind(region.mapped, std::max(alignment, kPage), region.owner);
  region.begin = reinterpret_cast<std::uintptr_t>(begin);
  if (begin != nullptr && !add_region(region)) {
    give_back(region);
    begin = nullptr;
  }
  if (begin != nullptr && getpid() == process && has_context()) register_all(register_pages);
  if (begin != nullptr) {
    find_region(begin, region);
    count(number_of(method), bytes, region.owner, start, site);
  }
  inside = false;
  return begin;
}

// Frees memory of ours; false: it is the C library's.
bool freed(void* begin) {
  Region region;
  if (begin == nullptr || reinterpret_cast<std::uintptr_t>(begin) % kPage != 0 || threshold == SIZE_MAX)
    return false;
  if (!take_region(begin, region)) return false;
  const bool before = inside;
  inside = true;
  const int error = errno;
  give_back(region);
  errno = error;
  inside = before;
  return true;
}

// Bytes that may be used of an allocation of ours; 0: it is the C library's.
std::size_t usable(void* begin) {
  Region region;
  const bool may_be = reinterpret_cast<std::uintptr_t>(begin) % kPage == 0 && threshold != SIZE_MAX;
  return begin != nullptr && may_be && find_region(begin, region) ? region.mapped : 0;
}

// For `operator new`; null: there is no memory.
void* of_new(const char* method, std::size_t bytes, std::size_t alignment, const void* caller) {
  if (void* begin = large(method, bytes, alignment, caller)) return begin;
  const std::size_t asked = std::max<std::size_t>(bytes, 1);
  return alignment <= alignof(std::max_align_t) ? __libc_malloc(asked) : __libc_memalign(alignment, asked);
}

// The program's own `operator new` with these arguments, where there is no memory: its handler may free some,
// and its exception is one that the program can catch. Null: it has none.
template <class... Arguments>
void* next_new(const char* symbol, Arguments... arguments) {
  const auto next = reinterpret_cast<void* (*)(Arguments...)>(dlsym(RTLD_NEXT, symbol));
  return next == nullptr ? nullptr : next(arguments...);
}

bool is_alignment(std::size_t alignment) { return alignment != 0 && (alignment & (alignment - 1)) == 0; }

}  // namespace
}  // namespace byteways::watch::allocations

using namespace byteways::watch::allocations;  // NOLINT: entries have names of C, in no namespace

#define BYTEWAYS_ALLOCATION extern "C" [[gnu::visibility("default")]]
#define BYTEWAYS_CALLER __builtin_return_address(0)

BYTEWAYS_ALLOCATION void* malloc(std::size_t bytes) {
  void* const begin = large("malloc", bytes, 16, BYTEWAYS_CALLER);
  return begin != nullptr ? begin : __libc_malloc(bytes);
}

// Pages of the system are zero; the driver's memory need not be.
BYTEWAYS_ALLOCATION void* calloc(std::size_t number, std::size_t each) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(number, each, &bytes)) {
    if (void* begin = large("calloc", bytes, 16, BYTEWAYS_CALLER)) return std::memset(begin, 0, bytes);
  }
  return __libc_calloc(number, each);
}

BYTEWAYS_ALLOCATION void free(void* begin) {
  if (!freed(begin)) __libc_free(begin);
}

// What the C library has stays there: to move it would need its size.
BYTEWAYS_ALLOCATION void* realloc(void* old, std::size_t bytes) {
  const std::size_t before = usable(old);
  if (before == 0 && old != nullptr) return __libc_realloc(old, bytes);
  if (bytes == 0 && old != nullptr) {
    free(old);
    return nullptr;
  }
  void* begin = large("realloc", bytes, 16, BYTEWAYS_CALLER);
  if (begin == nullptr) begin = __libc_malloc(bytes);
  if (begin == nullptr || old == nullptr) return begin;
  std::memcpy(begin, old, std::min(before, bytes));
  free(old);
  return begin;
}

BYTEWAYS_ALLOCATION int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  if (!is_alignment(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* begin = large("posix_memalign", bytes, alignment, BYTEWAYS_CALLER);
  if (begin == nullptr) begin = __libc_memalign(alignment, bytes);
  if (begin == nullptr) return ENOMEM;
  *out = begin;
  return 0;
}

BYTEWAYS_ALLOCATION void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (is_alignment(alignment)) {
    if (void* begin = large("aligned_alloc", bytes, alignment, BYTEWAYS_CALLER)) return begin;
  }
  return __libc_memalign(alignment, bytes);
}

BYTEWAYS_ALLOCATION void* memalign(std::size_t alignment, std::size_t bytes) {
  if (is_alignment(alignment)) {
    if (void* begin = large("memalign", bytes, alignment, BYTEWAYS_CALLER)) return begin;
  }
  return __libc_memalign(alignment, bytes);
}

// The C library's own has no other name: it is asked only for what is not ours.
BYTEWAYS_ALLOCATION std::size_t malloc_usable_size(void* begin) {
  if (const std::size_t bytes = usable(begin)) return bytes;
  static const auto next = reinterpret_cast<std::size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return begin != nullptr && next != nullptr ? next(begin) : 0;
}

// Of C++, whose library would be the caller of malloc otherwise. Its `operator delete` calls free(). By their
// names for the linker (Itanium C++ ABI): `operator new` and `new[]`, each also aligned and without
// exceptions.
#define BYTEWAYS_NEW(symbol, method, alignment, parameters, ...)                       \
  BYTEWAYS_ALLOCATION void* symbol parameters {                                        \
    if (void* begin = of_new(method, bytes, alignment, BYTEWAYS_CALLER)) return begin; \
    return next_new(#symbol, __VA_ARGS__);                                             \
  }
#define BYTEWAYS_NEWS(symbol, method)                                                                     \
  BYTEWAYS_NEW(symbol, method, alignof(std::max_align_t), (std::size_t bytes), bytes)                     \
  BYTEWAYS_NEW(symbol##RKSt9nothrow_t, method, alignof(std::max_align_t),                                 \
               (std::size_t bytes, const void* no_throw), bytes, no_throw)                                \
  BYTEWAYS_NEW(symbol##St11align_val_t, method, aligned, (std::size_t bytes, std::size_t aligned), bytes, \
               aligned)                                                                                   \
  BYTEWAYS_NEW(symbol##St11align_val_tRKSt9nothrow_t, method, aligned,                                    \
               (std::size_t bytes, std::size_t aligned, const void* no_throw), bytes, aligned, no_throw)

BYTEWAYS_NEWS(_Znwm, "operator new")
BYTEWAYS_NEWS(_Znam, "operator new[]")
