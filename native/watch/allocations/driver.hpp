// Page-locked and managed memory by the driver that the program has loaded itself, CUDA's or HIP's. A driver
// that has no context yet is left alone: to initialise it earlier than the program does would change the
// program.
#pragma once
#include <cstddef>

namespace byteways::watch::allocations {

// Whether a driver is loaded and has a context, so that the functions below can succeed.
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
