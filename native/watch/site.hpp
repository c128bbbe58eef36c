// The module that called: executable or library of a return address. No call of the loader: its lock may be
// held by a thread that waits for the one that is counted. The process's own mappings (/proc/self/maps) have
// the same.
#pragma once
#include <cstdint>

namespace byteways::watch {

// The number (names.hpp) of the name of the module's file, remembered by address. 0: unknown, because no file
// has this address (code that was made at run time), or because the mappings could not be read now (no
// descriptor was free, or too much time went into reading them already).
std::uint16_t site_of(const void* address) noexcept;

// Whether an address lies in this very library.
bool is_in_this_library(const void* address) noexcept;

// Whether it is a library of ours, whose own work is not the program's; false for 0.
bool is_ours(std::uint16_t site) noexcept;

// Whether it is a GPU's driver or a library that works inside of it (CUPTI, ROCprofiler): such code may hold
// locks of the driver. True for 0: who must not disturb a driver leaves alone what is unknown.
bool is_of_driver(std::uint16_t site) noexcept;

// Whether a GPU's driver is loaded, as of the last reading.
bool has_driver() noexcept;

// Reads the mappings, for modules that came or went. By the thread of snapshots and once at the start; at
// other times site_of() does it for an address that is new.
void read_modules() noexcept;

}  // namespace byteways::watch
