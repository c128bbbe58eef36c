// What memory buffers of host calls are.
#pragma once
#include "watch/histogram.hpp"

namespace byteways::watch {

// Pageable where no GPU driver is loaded; elsewhere a buffer may be pinned, or a device's: unknown. A driver
// that the program loads later is noticed with the next snapshot.
Memory memory_of_buffers() noexcept;

}  // namespace byteways::watch
