// How much of the time of copies passed while kernels ran on the same device. Records come in the order in
// which operations ended, or nearly: copies wait for kernels that ended later, and kernels for copies.
#pragma once
#include <cstddef>
#include <cstdint>

#include "watch/histogram.hpp"

namespace byteways::watch {

// Of one device: stretches of time with kernels, and copies, that are remembered. What is older has been
// counted, and a record that comes later still finds nothing of it: the time is then too short, never too
// long.
inline constexpr std::size_t kMostStretches = 8192, kMostCopies = 8192;
inline constexpr std::size_t kMostKernelDevices = 64;

// Times are of one clock, in ns. Any thread calls; a device takes 640 KiB from its first record on.
void add_kernel_time(std::uint32_t device, std::uint64_t start, std::uint64_t end) noexcept;
// `bin`: that of the copy, or null.
void add_copy_time(std::uint32_t device, std::uint64_t start, std::uint64_t end, Bin* bin) noexcept;
// Counts the copies that still wait.
void finish_overlaps() noexcept;

}  // namespace byteways::watch
