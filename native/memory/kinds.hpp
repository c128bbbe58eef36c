// How a buffer is allocated. Names in files and on the command line: memory_name().
#pragma once
#include <string_view>

namespace byteways {

enum class Memory {
  pageable,
  hugepage,
  pinned,              // cached by the GPU in no way that hides the host's stores (coherent)
  pinned_noncoherent,  // the GPU may cache it while a kernel runs
  write_combined,      // pinned; cores write it past their caches, and read it word by word
  registered,
  managed,
  managed_coarse,  // managed, and advised to be coherent at kernel boundaries only
  device,
  device_fine,      // coherent with other devices while a kernel runs
  device_uncached,  // passes the GPU's caches by
  pool,             // from a memory pool, in the order of a stream
  vmm,              // physical memory, mapped to addresses that were reserved for it
};
inline constexpr Memory kMemories[] = {
    Memory::pageable,
    Memory::hugepage,
    Memory::pinned,
    Memory::pinned_noncoherent,
    Memory::write_combined,
    Memory::registered,
    Memory::managed,
    Memory::managed_coarse,
    Memory::device,
    Memory::device_fine,
    Memory::device_uncached,
    Memory::pool,
    Memory::vmm,
};

std::string_view memory_name(Memory memory);
Memory memory_from_name(std::string_view name);  // throws Unsupported

// Pages that move between devices.
constexpr bool is_managed(Memory memory) {
  return memory == Memory::managed || memory == Memory::managed_coarse;
}
// A GPU's own memory.
constexpr bool is_device(Memory memory) {
  return memory == Memory::device || memory == Memory::device_fine || memory == Memory::device_uncached ||
         memory == Memory::pool || memory == Memory::vmm;
}
// A GPU's own memory that peer access does not cover: it is opened to each other device apart.
constexpr bool needs_grant(Memory memory) { return memory == Memory::pool || memory == Memory::vmm; }
// The operating system's ordinary pages, which no GPU runtime knows of.
constexpr bool is_plain(Memory memory) { return memory == Memory::pageable || memory == Memory::hugepage; }

}  // namespace byteways
