// See kinds.hpp.
#include "memory/kinds.hpp"

#include <string>

#include "core/error.hpp"

namespace byteways {

std::string_view memory_name(Memory memory) {
  switch (memory) {
    case Memory::pageable:
      return "pageable";
    case Memory::hugepage:
      return "hugepage";
    case Memory::pinned:
      return "pinned";
    case Memory::pinned_noncoherent:
      return "pinned-noncoherent";
    case Memory::write_combined:
      return "write-combined";
    case Memory::registered:
      return "registered";
    case Memory::managed:
      return "managed";
    case Memory::managed_coarse:
      return "managed-coarse";
    case Memory::device:
      return "device";
    case Memory::device_fine:
      return "device-fine";
    case Memory::device_uncached:
      return "device-uncached";
    case Memory::pool:
      return "pool";
    case Memory::vmm:
      return "vmm";
    case Memory::ipc:
      return "ipc";
    case Memory::xccl:
      return "xccl";
  }
  return "unknown";
}

Memory memory_from_name(std::string_view name) {
  for (Memory memory : kMemories)
    if (memory_name(memory) == name) return memory;
  throw Unsupported("memory", "unknown", "there is no memory named '" + std::string(name) + "'");
}

}  // namespace byteways
