// AMD's HIP runtime library, loaded at run time: its functions and constants.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/capabilities.hpp"
#include "runtimes/gpu/driver.hpp"
#include "runtimes/gpu/function_table.hpp"
#include "runtimes/gpu/memory_types.hpp"

namespace byteways::hip {

// Names and numbers as in hip/hip_runtime_api.h, the same from HIP 4.2 to 7.2 unless a comment says
// otherwise.
struct HipTable {
  using Device = int;
  using Stream = struct OpaqueStream*;
  using Event = struct OpaqueEvent*;
  using Module = struct OpaqueModule*;
  using Kernel = struct OpaqueKernel*;
  using Graph = struct OpaqueGraph*;
  using Launchable = struct OpaqueLaunchable*;   // hipGraphExec_t
  static constexpr int kCaptureThreadLocal = 1;  // hipStreamCaptureModeThreadLocal
  using Pool = struct OpaquePool*;
  using Physical = struct OpaquePhysical*;
  using Access = gpu::AccessDescription;
  using Handle = gpu::MemoryHandle;
  using PhysicalProperties = gpu::PhysicalProperties;
  struct Uuid {
    char bytes[16];  // hexadecimal digits as text, not binary as in CUDA
  };
  // hipDeviceProp_t: 792 bytes before HIP 6, then 1472. Space for both and for later versions; only the name
  // of the architecture is searched in it.
  struct Properties {
    char bytes[16384];
    // The offset of the architecture varies between versions, so its text is searched for after the device's
    // name, which comes first and may contain the same letters. Empty: it is not there.
    std::string architecture() const {
      constexpr std::size_t kNameBytes = 256;
      const std::string_view all(bytes + kNameBytes, sizeof bytes - kNameBytes - 1);
      const std::size_t at = all.find("gfx");
      return at == std::string_view::npos ? std::string() : std::string(all.data() + at);
    }
  };

  struct PointerAttributes {  // hipPointerAttribute_t
    int type, device;         // hipMemoryType: host and device are 0 and 1 before HIP 6, then 1 and 2
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned flags;
  };

  // hipIpcMemLazyEnablePeerAccess, which became 1 with HIP 6.0: earlier versions refuse any flag but 0.
  static constexpr unsigned open_with_peer_access(int version) { return version < kVersion6 ? 0 : 1; }

  static constexpr int kVersion6 = 60'000'000;           // of hipRuntimeGetVersion
  static constexpr int kOutOfMemory = 2;                 // hipErrorOutOfMemory
  static constexpr int kNotReady = 600;                  // hipErrorNotReady
  static constexpr int kPeerAccessAlreadyEnabled = 704;  // hipErrorPeerAccessAlreadyEnabled
  static constexpr unsigned kHostPortable = 1,
                            kHostMapped = 2;         // hipHostMalloc*, equal for hipHostRegister*
  static constexpr unsigned kHostWriteCombined = 4;  // hipHostMalloc*
  static constexpr unsigned kHostNumaUser = 0x20000000, kHostCoherent = 0x40000000,
                            kHostNonCoherent = 0x80000000;                // hipHostMalloc*
  static constexpr unsigned kDeviceFineGrained = 1, kDeviceUncached = 3;  // hipDeviceMalloc*
  static constexpr unsigned kAttachGlobal = 1;                            // hipMemAttachGlobal
  static constexpr int kAdviseCoarseGrain = 100;                          // hipMemAdviseSetCoarseGrain
  static constexpr int kLastPrefetchLocation = 4;    // hipMemRangeAttributeLastPrefetchLocation
  static constexpr int kCopyDefault = 4;             // hipMemcpyDefault
  static constexpr int kBufferId = 7;                // HIP_POINTER_ATTRIBUTE_BUFFER_ID
  static constexpr unsigned kStreamNonBlocking = 1;  // hipStreamNonBlocking
  static constexpr unsigned kEventTiming = 0;        // hipEventDefault
  static constexpr int kHostDevice = -1;             // hipCpuDeviceId
  static constexpr int kKernelMaxThreads = 0, kKernelSharedBytes = 1;  // HIP_FUNC_ATTRIBUTE_*
  // hipDeviceAttribute*
  static constexpr int kDeviceCopyEngines = 2, kDeviceConcurrentManaged = 9, kDeviceIntegrated = 16,
                       kDeviceL2Bytes = 19, kDeviceManagedMemory = 24, kDeviceMemoryBusBits = 59,
                       kDeviceMemoryClockKhz = 60, kDeviceMultiprocessors = 63, kDevicePageableAccess = 65,
                       kDeviceSharedBytes = 74;

#define BYTEWAYS_TABLE "runtimes/hip/hip.def"
#include "runtimes/gpu/function_table.inc"
  std::string error_name(int code) const;
  std::string error_text(int code) const;
};

// gfx942 and gfx950, whose attributes report less memory bandwidth than there is.
constexpr bool has_hbm3(std::string_view architecture) {
  return architecture.starts_with("gfx942") || architecture.starts_with("gfx950");
}
// Transfers per reported clock: MI300A reports 1300 MHz (ROCm/rocm_smi_lib, issue 209); with four transfers
// and 8192 bit (data sheet) that is 5.3 TB/s. Others have two.
constexpr int transfers_per_memory_clock(std::string_view architecture) {
  return has_hbm3(architecture) ? 4 : 2;
}
// The Infinity Cache on the memory side (CDNA 3 and CDNA 4 white papers: 256 MB); no attribute reports it.
constexpr std::uint64_t memory_side_cache_bytes(std::string_view architecture) {
  return has_hbm3(architecture) ? std::uint64_t{256} << 20 : 0;
}

class HipDriver : public gpu::Driver<HipTable> {
 public:
  // Makes the device current for calls of this thread; HIP has no contexts.
  using Place = Device;
  static Place place(int device) { return device; }
  void enter(int device, Place place) const { call(device, set_device, place); }
  void make_current(int device) const { enter(device, place(device)); }
  static Device handle(int device) { return device; }
  int attribute(int device, int attribute) const;
  // For attributes that some versions do not know.
  int attribute_or(int device, int attribute, int otherwise) const;
  int devices() const;
  std::string architecture(int device) const;  // "gfx90a:sramecc+:xnack-"

  // Operations that the templates require from a vendor (gpu/memory.hpp, gpu/kernel_store.hpp).
  void* new_device_memory(int device, Memory memory, std::size_t bytes) const;
  void* new_managed_memory(int device, Memory memory, std::size_t bytes) const;
  static unsigned pinned_flags(Memory memory);
  // Code objects are loaded as a whole, and kernels may use all shared memory of a compute unit.
  int prepare_kernel(int device, Kernel kernel, int own_shared_bytes) const;
  static Device peer(int device) { return device; }
  unsigned handle_flags() const;
  void send_pages(int issuer, void* data, std::size_t bytes, PagePlace to, Stream stream) const {
    const Device device = to.device >= 0 ? to.device : kHostDevice;
    call(issuer, prefetch, static_cast<const void*>(data), bytes, device, stream);
  }
  Availability offers_prefetch_to_domain() const {
    return {false, std::string(prefetch.symbol()) + " sends pages to the host, and names no domain of it"};
  }
  static std::optional<int> device_of(Device handle) {
    if (handle < kHostDevice) return std::nullopt;  // hipInvalidDeviceId
    return handle;
  }
  Availability hold_pages(void* data, std::size_t bytes, int owner, int device, bool hold) const;
  void copy(int device, void* to, const void* from, std::size_t bytes, Stream stream) const {
    call(device, copy_async, to, from, bytes, kCopyDefault, stream);
  }
  void copy_and_wait(int device, void* to, const void* from, std::size_t bytes) const {
    call(device, copy_blocking, to, from, bytes, kCopyDefault);
  }
  std::string batch_obstacle() const;
  void copy_all(int device, std::vector<void*>& to, std::vector<const void*>& from,
                std::vector<std::size_t>& sizes, Stream stream) const;
  std::string rows_obstacle() const;
  void copy_rows(int device, const RowsCopy& rows, Stream stream) const;
};

}  // namespace byteways::hip
