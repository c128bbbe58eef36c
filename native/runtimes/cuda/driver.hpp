// The CUDA driver library, loaded at run time: its functions and constants, with primary contexts hidden.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtimes/capabilities.hpp"
#include "runtimes/gpu/driver.hpp"
#include "runtimes/gpu/function_table.hpp"
#include "runtimes/gpu/memory_types.hpp"

namespace byteways::cuda {

// Names and numbers as in the driver API reference, unchanged since their introduction.
struct CudaTable {
  using Device = int;
  using Context = struct OpaqueContext*;
  using Stream = struct OpaqueStream*;
  using Event = struct OpaqueEvent*;
  using Module = struct OpaqueModule*;
  using Kernel = struct OpaqueKernel*;
  using Graph = struct OpaqueGraph*;
  using Launchable = struct OpaqueLaunchable*;  // CUgraphExec
  using Pool = struct OpaquePool*;
  using Physical = unsigned long long;
  using Access = gpu::AccessDescription;
  using Handle = gpu::MemoryHandle;
  using PhysicalProperties = gpu::PhysicalProperties;
  struct Uuid {
    unsigned char bytes[16];
  };
  struct Location {  // CUmemLocation
    int type;
    int id;
  };
  struct RowsSide {  // one side of a CUDA_MEMCPY2D: x in bytes and y, kind of memory, its address by kind
    std::size_t x = 0, y = 0;
    int kind = 0;
    const void* host = nullptr;
    const void* device = nullptr;
    void* array = nullptr;
    std::size_t pitch = 0;
  };
  struct RowsCopy {  // CUDA_MEMCPY2D_v2
    RowsSide source, destination;
    std::size_t width_bytes = 0, rows = 0;
  };
  struct BatchAttributes {  // CUmemcpyAttributes: order of reads, hints for managed memory, flags
    int source_order;
    Location source, destination;
    unsigned flags;
  };
  static constexpr unsigned kOpenWithPeerAccess = 1;         // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
  static constexpr int kOrderOfStream = 1;                   // CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
  static constexpr int kCaptureThreadLocal = 1;              // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
  static constexpr int kMemoryHost = 1, kMemoryUnified = 4;  // CU_MEMORYTYPE_*

  static constexpr int kOutOfMemory = 2;                 // CUDA_ERROR_OUT_OF_MEMORY
  static constexpr int kNotReady = 600;                  // CUDA_ERROR_NOT_READY
  static constexpr int kPeerAccessAlreadyEnabled = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
  static constexpr unsigned kHostPortable = 1,
                            kHostMapped = 2;         // CU_MEMHOSTALLOC_*, equal for CU_MEMHOSTREGISTER_*
  static constexpr unsigned kHostWriteCombined = 4;  // CU_MEMHOSTALLOC_WRITECOMBINED
  static constexpr unsigned kAttachGlobal = 1;       // CU_MEM_ATTACH_GLOBAL
  static constexpr unsigned kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
  static constexpr unsigned kEventTiming = 0;        // CU_EVENT_DEFAULT
  // CU_MEM_LOCATION_TYPE_*; the last is HOST_NUMA
  static constexpr int kLocationDevice = 1, kLocationHost = 2, kLocationHostDomain = 3;
  static constexpr int kHostDevice = -1;  // CU_DEVICE_CPU
  static constexpr int kPreferredLocation = 3, kNoPreferredLocation = 4, kAccessedBy = 5,
                       kNotAccessedBy = 6;         // CU_MEM_ADVISE_*
  static constexpr int kLastPrefetchLocation = 4;  // CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION
  // CU_FUNC_ATTRIBUTE_*
  static constexpr int kKernelMaxThreads = 0, kKernelSharedBytes = 1, kKernelMaxDynamicSharedBytes = 8;
  // CU_DEVICE_ATTRIBUTE_*
  static constexpr int kDeviceMultiprocessors = 16, kDeviceMemoryClockKhz = 36, kDeviceMemoryBusBits = 37,
                       kDeviceL2Bytes = 38, kDeviceCopyEngines = 40, kDeviceCapabilityMajor = 75,
                       kDeviceCapabilityMinor = 76, kDeviceManagedMemory = 83, kDevicePageableAccess = 88,
                       kDeviceConcurrentManaged = 89, kDeviceHostPointerForRegistered = 91,
                       kDeviceSharedBytesOptIn = 97, kDeviceMapsMemory = 102, kDeviceHasPools = 115,
                       kDeviceNumaConfig = 130, kDeviceNumaId = 131;  // since CUDA 12.2
  static constexpr int kNumaNode = 1;                                 // CU_DEVICE_NUMA_CONFIG_NUMA_NODE

#define BYTEWAYS_TABLE "runtimes/cuda/cuda.def"
#include "runtimes/gpu/function_table.inc"
  std::string error_name(int code) const;
  std::string error_text(int code) const;
};

class CudaDriver : public gpu::Driver<CudaTable> {
 public:
  // Makes the device current for calls of this thread.
  using Place = Context;
  Place place(int device) const { return context(device); }
  void enter(int device, Place place) const { call(device, set_context, place); }
  void make_current(int device) const { enter(device, place(device)); }
  Context context(int device) const;
  Device handle(int device) const { return handles_.at(static_cast<std::size_t>(device)); }
  int attribute(int device, int attribute) const;
  // For attributes that some drivers do not know.
  int attribute_or(int device, int attribute, int otherwise) const;
  // Enumerates the devices; call once, after cuInit.
  void find_devices();
  int devices() const { return static_cast<int>(handles_.size()); }

  // Operations that the templates require from a vendor (gpu/memory.hpp, gpu/kernel_store.hpp). CUDA has one
  // kind of each memory.
  void* new_device_memory(int device, Memory memory, std::size_t bytes) const;
  void* new_managed_memory(int device, Memory memory, std::size_t bytes) const;
  static unsigned pinned_flags(Memory memory) {
    return kHostPortable | kHostMapped | (memory == Memory::write_combined ? kHostWriteCombined : 0u);
  }
  int prepare_kernel(int device, Kernel kernel, int own_shared_bytes) const;
  Context peer(int device) const { return context(device); }
  static unsigned handle_flags() { return kOpenWithPeerAccess; }
  void send_pages(int issuer, void* data, std::size_t bytes, PagePlace to, Stream stream) const;
  Availability offers_prefetch_to_domain() const;
  std::optional<int> device_of(Device handle) const;
  Availability hold_pages(void* data, std::size_t bytes, int owner, int device, bool hold) const;
  void copy(int device, void* to, const void* from, std::size_t bytes, Stream stream) const {
    call(device, copy_async, to, from, bytes, stream);
  }
  void copy_and_wait(int device, void* to, const void* from, std::size_t bytes) const {
    call(device, copy_blocking, to, from, bytes);
  }
  std::string batch_obstacle() const;
  void copy_all(int device, std::vector<void*>& to, std::vector<const void*>& from,
                std::vector<std::size_t>& sizes, Stream stream) const;
  std::string rows_obstacle() const;
  void copy_rows(int device, const byteways::RowsCopy& rows, Stream stream) const;

  // The location of pages for older and newer calls; -1: the host.
  Device whereabouts(int device) const { return device < 0 ? kHostDevice : handle(device); }
  Location location(PagePlace place) const;

 private:
  std::vector<Device> handles_;
  // Primary contexts, each created when its device is first used: it takes some 0.3 s and hundreds of MiB of
  // the GPU, which a rank would waste on each GPU of the others. Like those of the CUDA runtime they live
  // until the process ends: releasing one would affect other users.
  struct Primary {
    std::atomic<Context> context = nullptr;
    std::mutex creation;
  };
  mutable std::vector<Primary> primaries_;
};

}  // namespace byteways::cuda
