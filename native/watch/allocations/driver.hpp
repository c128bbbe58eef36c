// Page-locked and managed memory by the driver that the program has loaded itself, CUDA's or HIP's. A driver
// that has no context yet is left alone: to initialise it earlier than the program does would change the
// program.
#pragma once
#include <cstddef>

namespace byteways::watch::allocations {

// Looks whether the program has loaded a driver. Asks the dynamic linker, whose lock another thread may hold
// while it waits for this one: not for a thread of the program.
void look_for_driver() noexcept;

// Whether a driver was found and has a context, so that the functions below can succeed. While one of them
// calls the driver, a capture of a stream by this thread or another goes on: the call is no part of it.
bool has_context() noexcept;

// Registers pages for all devices; false if the driver refuses.
bool register_pages(void* begin, std::size_t bytes) noexcept;
void unregister_pages(void* begin) noexcept;

// Memory of the driver; null if it refuses.
void* pinned(std::size_t bytes) noexcept;
void free_pinned(void* begin) noexcept;
void* managed(std::size_t bytes) noexcept;
void free_managed(void* begin) noexcept;

}  // namespace byteways::watch::allocations
