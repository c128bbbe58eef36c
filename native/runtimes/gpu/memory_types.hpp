// Structures with which both vendors describe pools, physical allocations and who may reach them: HIP took
// them over from CUDA, member by member (cuda.h, CUmemLocation and what follows; hip_runtime_api.h,
// hipMemLocation and what follows).
#pragma once
#include <cstddef>

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

inline constexpr int kLocationIsDevice = 1;                  // …LocationTypeDevice
inline constexpr int kAllocationPinned = 1;                  // …AllocationTypePinned
inline constexpr int kAccessNone = 0, kAccessReadWrite = 3;  // …AccessFlagsProt*
inline constexpr int kGranularityRecommended = 1;
inline constexpr int kPoolReleaseThreshold = 4;  // bytes that a pool keeps when it is waited for

}  // namespace byteways::gpu
