// The module that called: executable or library of a return address.
#pragma once
#include <cstdint>

namespace byteways::watch {

// The number (names.hpp) of the module's file name, remembered by address; 0 if none has this address.
std::uint16_t site_of(const void* address) noexcept;

// Whether the address lies in a library of ours, whose own work is not the program's.
bool is_ours(std::uint16_t site) noexcept;

// Whether it lies in a GPU's driver or in a library that works inside of it (CUPTI, ROCprofiler): such code
// may hold locks of the driver.
bool is_of_driver(std::uint16_t site) noexcept;

}  // namespace byteways::watch
