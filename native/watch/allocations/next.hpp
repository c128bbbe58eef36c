// The allocator that serves what is not changed: the next one in the order in which symbols are looked up,
// the program's own where it has one. Found before the process has a second thread.
#pragma once
#include <cstddef>

// Name, result, parameters. C: of glibc, and of C23.
#define BYTEWAYS_ALLOCATOR_OF_C(FUNCTION)                           \
  FUNCTION(malloc, void*, (std::size_t))                            \
  FUNCTION(free, void, (void*))                                     \
  FUNCTION(calloc, void*, (std::size_t, std::size_t))               \
  FUNCTION(realloc, void*, (void*, std::size_t))                    \
  FUNCTION(reallocarray, void*, (void*, std::size_t, std::size_t))  \
  FUNCTION(posix_memalign, int, (void**, std::size_t, std::size_t)) \
  FUNCTION(aligned_alloc, void*, (std::size_t, std::size_t))        \
  FUNCTION(memalign, void*, (std::size_t, std::size_t))             \
  FUNCTION(valloc, void*, (std::size_t))                            \
  FUNCTION(pvalloc, void*, (std::size_t))                           \
  FUNCTION(malloc_usable_size, std::size_t, (void*))                \
  FUNCTION(free_sized, void, (void*, std::size_t))                  \
  FUNCTION(free_aligned_sized, void, (void*, std::size_t, std::size_t))
// C++, by the linker's names (Itanium C++ ABI): operator new and new[], delete and delete[]; m: a size,
// RKSt9nothrow_t: without exceptions, St11align_val_t: an alignment.
#define BYTEWAYS_ALLOCATOR_OF_CPP(FUNCTION)                                                    \
  FUNCTION(_Znwm, void*, (std::size_t))                                                        \
  FUNCTION(_Znam, void*, (std::size_t))                                                        \
  FUNCTION(_ZnwmRKSt9nothrow_t, void*, (std::size_t, const void*))                             \
  FUNCTION(_ZnamRKSt9nothrow_t, void*, (std::size_t, const void*))                             \
  FUNCTION(_ZnwmSt11align_val_t, void*, (std::size_t, std::size_t))                            \
  FUNCTION(_ZnamSt11align_val_t, void*, (std::size_t, std::size_t))                            \
  FUNCTION(_ZnwmSt11align_val_tRKSt9nothrow_t, void*, (std::size_t, std::size_t, const void*)) \
  FUNCTION(_ZnamSt11align_val_tRKSt9nothrow_t, void*, (std::size_t, std::size_t, const void*)) \
  FUNCTION(_ZdlPv, void, (void*))                                                              \
  FUNCTION(_ZdaPv, void, (void*))                                                              \
  FUNCTION(_ZdlPvm, void, (void*, std::size_t))                                                \
  FUNCTION(_ZdaPvm, void, (void*, std::size_t))                                                \
  FUNCTION(_ZdlPvRKSt9nothrow_t, void, (void*, const void*))                                   \
  FUNCTION(_ZdaPvRKSt9nothrow_t, void, (void*, const void*))                                   \
  FUNCTION(_ZdlPvSt11align_val_t, void, (void*, std::size_t))                                  \
  FUNCTION(_ZdaPvSt11align_val_t, void, (void*, std::size_t))                                  \
  FUNCTION(_ZdlPvmSt11align_val_t, void, (void*, std::size_t, std::size_t))                    \
  FUNCTION(_ZdaPvmSt11align_val_t, void, (void*, std::size_t, std::size_t))                    \
  FUNCTION(_ZdlPvSt11align_val_tRKSt9nothrow_t, void, (void*, std::size_t, const void*))       \
  FUNCTION(_ZdaPvSt11align_val_tRKSt9nothrow_t, void, (void*, std::size_t, const void*))

namespace byteways::watch::allocations {

// Null members: no module after this one has such a function.
struct Next {
#define BYTEWAYS_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  BYTEWAYS_ALLOCATOR_OF_C(BYTEWAYS_MEMBER)
  BYTEWAYS_ALLOCATOR_OF_CPP(BYTEWAYS_MEMBER)
#undef BYTEWAYS_MEMBER
};

namespace inner {
extern Next next;
extern bool is_found;
void find() noexcept;
}  // namespace inner

// Complete but for the functions of C++ and the rare ones of C while it is being found, which allocates.
inline const Next& next() noexcept {
  if (!inner::is_found) [[unlikely]]
    inner::find();
  return inner::next;
}

// What the dynamic linker takes while the allocator is being found; free() leaves it.
void* early(std::size_t bytes) noexcept;
bool is_early(const void* begin) noexcept;

// What of the process may be changed: memory of malloc() and its like is of another allocator where a module
// before this one has such functions, or where one calls functions that only its allocator has, which cannot
// know memory of ours. `operator new` and `delete` stay the program's where it has any of its own.
struct Changeable {
  bool c = true, cpp = true;
};
Changeable changeable() noexcept;

// A function of a C++ library that was loaded for its user alone; null: none has it. Asks the dynamic linker:
// for where there is no memory, and `operator new` calls the program's handler and throws.
void* of_loaded_cpp(const char* symbol) noexcept;

}  // namespace byteways::watch::allocations
