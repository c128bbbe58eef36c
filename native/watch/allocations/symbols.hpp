// The symbols of the modules of this process, read from their tables without a call of the dynamic linker.
// For the start of the process alone: later, another thread may load and unload modules meanwhile.
#pragma once
#include <link.h>

namespace byteways::watch::allocations {

// The modules, in the order in which symbols are looked up, and this library among them (null: unknown).
const link_map* first_module() noexcept;
const link_map* own_module() noexcept;

// The address of a symbol that the module defines; null: it does not.
void* defined(const link_map* module, const char* name) noexcept;

// Whether the user takes a symbol from other modules that `here` defines, `elsewhere` does not, and
// is_meant() is true for.
bool imports_of(const link_map* user, const link_map* here, const link_map* elsewhere,
                bool (*is_meant)(const char* name)) noexcept;

}  // namespace byteways::watch::allocations
