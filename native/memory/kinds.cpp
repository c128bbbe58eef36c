// See kinds.hpp.
#include "memory/kinds.hpp"

#include <string>
#include <utility>

#include "core/error.hpp"

namespace byteways {
namespace {

constexpr std::pair<Memory, std::string_view> kNames[] = {
    {Memory::pageable, "pageable"},
    {Memory::hugepage, "hugepage"},
    {Memory::pinned, "pinned"},
    {Memory::pinned_noncoherent, "pinned-noncoherent"},
    {Memory::write_combined, "write-combined"},
    {Memory::registered, "registered"},
    {Memory::managed, "managed"},
    {Memory::managed_coarse, "managed-coarse"},
    {Memory::device, "device"},
    {Memory::device_fine, "device-fine"},
    {Memory::device_uncached, "device-uncached"},
    {Memory::pool, "pool"},
    {Memory::vmm, "vmm"},
    {Memory::ipc, "ipc"},
    {Memory::xccl, "xccl"},
};

}  // namespace

std::string_view memory_name(Memory memory) {
  for (const auto& [value, name] : kNames)
    if (value == memory) return name;
  return "unknown";
}

Memory memory_from_name(std::string_view name) {
  for (const auto& [value, text] : kNames)
    if (text == name) return value;
  throw Unsupported("memory", "unknown", "there is no memory named '" + std::string(name) + "'");
}

}  // namespace byteways
