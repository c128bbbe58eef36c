// How a buffer is allocated; the simulator's blocks have the same kinds.
#pragma once
#include <string_view>

namespace byteways {

enum class Memory {
  pageable,
  hugepage,
  pinned,              // coherent: the GPU does not cache it in a way that hides the host's stores
  pinned_noncoherent,  // the GPU may cache it while a kernel runs
  write_combined,      // pinned; cores write it past their caches, and read it word by word
  registered,
  managed,
  managed_coarse,  // managed, and advised to be coherent at kernel boundaries only
  device,
  device_fine,      // coherent with other devices while a kernel runs
  device_uncached,  // bypasses the GPU's caches
  pool,             // from a memory pool, allocated in stream order
  vmm,              // physical memory, mapped to addresses that were reserved for it
  ipc,              // device memory of another process, opened by its IPC handle
  xccl,             // device memory from NCCL or RCCL, registered with its communicators
};
// In files and on the command line.
std::string_view memory_name(Memory memory);
Memory memory_from_name(std::string_view name);  // throws Unsupported

// Memory whose pages migrate between devices.
constexpr bool is_managed(Memory memory) {
  return memory == Memory::managed || memory == Memory::managed_coarse;
}
// A GPU's own memory.
constexpr bool is_device(Memory memory) {
  return memory == Memory::device || memory == Memory::device_fine || memory == Memory::device_uncached ||
         memory == Memory::pool || memory == Memory::vmm || memory == Memory::ipc || memory == Memory::xccl;
}
// GPU memory that peer access does not cover: it must be opened to each other device separately.
constexpr bool needs_grant(Memory memory) { return memory == Memory::pool || memory == Memory::vmm; }
// Ordinary pages of the operating system, unknown to GPU runtimes.
constexpr bool is_plain(Memory memory) { return memory == Memory::pageable || memory == Memory::hugepage; }

}  // namespace byteways
