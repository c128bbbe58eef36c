// Large allocations of a program in another kind of memory, for `byteways watch --try`: the program's sources
// and results stay as they are. An allocation of at least the threshold gets pages of its own or memory of
// the driver.
#pragma once
#include <cstddef>

namespace byteways::watch::allocations {

// Allocates in other memory; null: the next allocator shall.
void* large(const char* method, std::size_t bytes, std::size_t alignment, const void* caller) noexcept;
// Frees memory of ours; false: it is the next allocator's.
bool freed(void* begin) noexcept;
// Bytes that may be used of an allocation of ours; 0: it is the next allocator's.
std::size_t usable(const void* begin) noexcept;

// The same for `operator new` and `delete`, where the program has none of its own.
void* large_new(const char* method, std::size_t bytes, std::size_t alignment, const void* caller) noexcept;
bool freed_new(void* begin) noexcept;

// Until it is called again, this thread's allocations of so many bytes stay as they are. No object with a
// destructor: exceptions pass through the caller, whose frame must have nothing to clean up, because this
// library has parts of another C++ library than the one that throws.
void leave_alone(std::size_t bytes, std::size_t alignment) noexcept;

}  // namespace byteways::watch::allocations
