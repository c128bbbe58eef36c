// The functions that a program allocates and frees by. Preloaded: they are called in place of the next
// allocator's, which serves what is not changed.
#include <errno.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "watch/allocations/large.hpp"
#include "watch/allocations/next.hpp"

using namespace byteways::watch::allocations;  // NOLINT: entries have names of C, in no namespace

#define BYTEWAYS_ALLOCATION extern "C" [[gnu::visibility("default")]]
#define BYTEWAYS_CALLER __builtin_return_address(0)

namespace {

constexpr std::size_t kUsualAlignment = alignof(std::max_align_t);

void* unchanged(std::size_t bytes) {
  const auto function = next().malloc;
  return function != nullptr ? function(bytes) : early(bytes);
}

void free_unchanged(void* begin) {
  if (!is_early(begin)) next().free(begin);
}

// What the next allocator has stays there: to move it would need its size.
void* moved(const char* method, void* old, std::size_t before, std::size_t bytes, const void* caller) {
  if (bytes == 0 && old != nullptr) {
    freed(old);
    return nullptr;
  }
  void* begin = large(method, bytes, kUsualAlignment, caller);
  if (begin == nullptr) begin = unchanged(bytes);
  if (begin == nullptr || old == nullptr) return begin;
  std::memcpy(begin, old, std::min(before, bytes));
  freed(old);
  return begin;
}

// `operator new` where no module after this one has it: of a C++ library that a module of a C program has
// loaded for itself.
void* new_of_loaded(const char* symbol, std::size_t bytes, std::size_t alignment, bool throws) {
  const std::size_t asked = std::max<std::size_t>(bytes, 1);
  void* const begin = alignment <= kUsualAlignment ? unchanged(asked) : next().memalign(alignment, asked);
  if (begin != nullptr || !throws) return begin;
  void* const function = of_loaded_cpp(symbol);
  if (function == nullptr) return nullptr;
  if (alignment <= kUsualAlignment) return reinterpret_cast<void* (*)(std::size_t)>(function)(bytes);
  return reinterpret_cast<void* (*)(std::size_t, std::size_t)>(function)(bytes, alignment);
}

}  // namespace

BYTEWAYS_ALLOCATION void* malloc(std::size_t bytes) {
  void* const begin = large("malloc", bytes, kUsualAlignment, BYTEWAYS_CALLER);
  return begin != nullptr ? begin : unchanged(bytes);
}

// Pages of the system are zero; the driver's memory need not be.
BYTEWAYS_ALLOCATION void* calloc(std::size_t number, std::size_t each) {
  std::size_t bytes = 0;
  const bool is_possible = !__builtin_mul_overflow(number, each, &bytes);
  if (is_possible)
    if (void* begin = large("calloc", bytes, kUsualAlignment, BYTEWAYS_CALLER))
      return std::memset(begin, 0, bytes);
  const auto function = next().calloc;
  if (function != nullptr) return function(number, each);
  return is_possible ? early(bytes) : nullptr;
}

BYTEWAYS_ALLOCATION void free(void* begin) {
  if (!freed(begin)) free_unchanged(begin);
}

BYTEWAYS_ALLOCATION void free_sized(void* begin, std::size_t bytes) {
  if (freed(begin)) return;
  next().free_sized != nullptr ? next().free_sized(begin, bytes) : free_unchanged(begin);
}

BYTEWAYS_ALLOCATION void free_aligned_sized(void* begin, std::size_t alignment, std::size_t bytes) {
  if (freed(begin)) return;
  next().free_aligned_sized != nullptr ? next().free_aligned_sized(begin, alignment, bytes)
                                       : free_unchanged(begin);
}

BYTEWAYS_ALLOCATION void* realloc(void* old, std::size_t bytes) {
  const std::size_t before = usable(old);
  if (before == 0 && old != nullptr) return next().realloc(old, bytes);
  return moved("realloc", old, before, bytes, BYTEWAYS_CALLER);
}

BYTEWAYS_ALLOCATION void* reallocarray(void* old, std::size_t number, std::size_t each) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(number, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::size_t before = usable(old);
  if (before == 0 && old != nullptr)
    return next().reallocarray != nullptr ? next().reallocarray(old, number, each)
                                          : next().realloc(old, bytes);
  return moved("reallocarray", old, before, bytes, BYTEWAYS_CALLER);
}

BYTEWAYS_ALLOCATION int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  if (alignment % sizeof(void*) == 0)
    if (void* const begin = large("posix_memalign", bytes, alignment, BYTEWAYS_CALLER)) {
      *out = begin;
      return 0;
    }
  return next().posix_memalign(out, alignment, bytes);
}

BYTEWAYS_ALLOCATION void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (void* begin = large("aligned_alloc", bytes, alignment, BYTEWAYS_CALLER)) return begin;
  return next().aligned_alloc(alignment, bytes);
}

BYTEWAYS_ALLOCATION void* memalign(std::size_t alignment, std::size_t bytes) {
  if (void* begin = large("memalign", bytes, alignment, BYTEWAYS_CALLER)) return begin;
  return next().memalign(alignment, bytes);
}

// Both begin on a page, as all that is large does; pvalloc() also ends on one.
BYTEWAYS_ALLOCATION void* valloc(std::size_t bytes) {
  void* const begin = large("valloc", bytes, kUsualAlignment, BYTEWAYS_CALLER);
  return begin != nullptr ? begin : next().valloc(bytes);
}

BYTEWAYS_ALLOCATION void* pvalloc(std::size_t bytes) {
  void* const begin = large("pvalloc", bytes, kUsualAlignment, BYTEWAYS_CALLER);
  return begin != nullptr ? begin : next().pvalloc(bytes);
}

BYTEWAYS_ALLOCATION std::size_t malloc_usable_size(void* begin) {
  if (const std::size_t bytes = usable(begin)) return bytes;
  return begin != nullptr ? next().malloc_usable_size(begin) : 0;
}

// Of C++: its library would be the caller of malloc() otherwise, and a driver's own allocations not known as
// such. The next function calls malloc(), which must not take for the C++ library's what was just left alone.
#define BYTEWAYS_NEW(symbol, method, throws, alignment, parameters, ...)                  \
  BYTEWAYS_ALLOCATION void* symbol parameters {                                           \
    if (void* begin = large_new(method, bytes, alignment, BYTEWAYS_CALLER)) return begin; \
    const auto function = next().symbol;                                                  \
    if (function == nullptr) return new_of_loaded(#symbol, bytes, alignment, throws);     \
    leave_alone(bytes, alignment);                                                        \
    void* const begin = function(__VA_ARGS__);                                            \
    leave_alone(0, 1);                                                                    \
    return begin;                                                                         \
  }
#define BYTEWAYS_NEWS(symbol, method)                                                                    \
  BYTEWAYS_NEW(symbol, method, true, kUsualAlignment, (std::size_t bytes), bytes)                        \
  BYTEWAYS_NEW(symbol##RKSt9nothrow_t, method, false, kUsualAlignment,                                   \
               (std::size_t bytes, const void* no_throw), bytes, no_throw)                               \
  BYTEWAYS_NEW(symbol##St11align_val_t, method, true, aligned, (std::size_t bytes, std::size_t aligned), \
               bytes, aligned)                                                                           \
  BYTEWAYS_NEW(symbol##St11align_val_tRKSt9nothrow_t, method, false, aligned,                            \
               (std::size_t bytes, std::size_t aligned, const void* no_throw), bytes, aligned, no_throw)

BYTEWAYS_NEWS(_Znwm, "operator new")
BYTEWAYS_NEWS(_Znam, "operator new[]")

#define BYTEWAYS_DELETE(symbol, parameters, ...)               \
  BYTEWAYS_ALLOCATION void symbol parameters {                 \
    if (freed_new(begin)) return;                              \
    const auto function = next().symbol;                       \
    function != nullptr ? function(__VA_ARGS__) : free(begin); \
  }
#define BYTEWAYS_DELETES(symbol)                                                                          \
  BYTEWAYS_DELETE(symbol, (void* begin), begin)                                                           \
  BYTEWAYS_DELETE(symbol##m, (void* begin, std::size_t bytes), begin, bytes)                              \
  BYTEWAYS_DELETE(symbol##RKSt9nothrow_t, (void* begin, const void* no_throw), begin, no_throw)           \
  BYTEWAYS_DELETE(symbol##St11align_val_t, (void* begin, std::size_t aligned), begin, aligned)            \
  BYTEWAYS_DELETE(symbol##mSt11align_val_t, (void* begin, std::size_t bytes, std::size_t aligned), begin, \
                  bytes, aligned)                                                                         \
  BYTEWAYS_DELETE(symbol##St11align_val_tRKSt9nothrow_t,                                                  \
                  (void* begin, std::size_t aligned, const void* no_throw), begin, aligned, no_throw)

BYTEWAYS_DELETES(_ZdlPv)
BYTEWAYS_DELETES(_ZdaPv)
