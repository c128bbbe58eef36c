// Structures with which both vendors describe pools, physical allocations and who may reach them: HIP took
// them over from CUDA, member by member (cuda.h, CUmemLocation and what follows; hip_runtime_api.h,
// hipMemLocation and what follows).
#pragma once
#include <cstddef>
#include <string>

#include "core/error.hpp"

namespace byteways::gpu {

struct MemoryLocation {
  int type, id;
};
struct AccessDescription {
  MemoryLocation location;
  int flags;
};
struct PhysicalProperties {
  int type, handle_types;
  MemoryLocation location;
  void* security;
  unsigned char flags[8];
};

// CUipcMemHandle, hipIpcMemHandle_t.
struct MemoryHandle {
  unsigned char bytes[64];
};
inline std::string to_digits(const MemoryHandle& handle) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : handle.bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}
// Throws Error when it is not the text of a handle.
inline MemoryHandle handle_from(const std::string& digits) {
  MemoryHandle handle{};
  if (digits.size() != 2 * sizeof handle.bytes ||
      digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Error("handle", "digits", "this is no handle of another process's memory: '" + digits + "'");
  for (std::size_t k = 0; k < sizeof handle.bytes; ++k)
    handle.bytes[k] = static_cast<unsigned char>(std::stoi(digits.substr(2 * k, 2), nullptr, 16));
  return handle;
}

inline constexpr int kLocationIsDevice = 1;                  // …LocationTypeDevice
inline constexpr int kAllocationPinned = 1;                  // …AllocationTypePinned
inline constexpr int kAccessNone = 0, kAccessReadWrite = 3;  // …AccessFlagsProt*
inline constexpr int kGranularityRecommended = 1;
inline constexpr int kPoolReleaseThreshold = 4;  // bytes that a pool keeps when it is waited for

}  // namespace byteways::gpu
