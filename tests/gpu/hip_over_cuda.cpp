// HIP over a CUDA driver: every function of hip.def, carried out by libcuda. With it, and with
// hiprtc_over_nvrtc.cpp, the HIP side of byteways runs end to end on an NVIDIA GPU, and the two sides can be
// compared there.
//
// What differs between the two is translated here and nowhere else: device numbers and current devices
// instead of contexts, attributes by number, kinds of memory, prefetching. BYTEWAYS_LIBCUDA is left to the
// session, which must not find CUDA; the façade reads FACADE_LIBCUDA and FACADE_LIBNVRTC.
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "facade.hpp"
#include "runtimes/hip/driver.hpp"

#pragma GCC visibility push(default)

namespace {

using byteways::cuda::CudaTable;
using byteways::hip::HipTable;
using facade::as;
using facade::cuda;
using facade::handle;
using facade::kArchitecture;

using Device = HipTable::Device;
using Stream = HipTable::Stream;
using Event = HipTable::Event;
using Module = HipTable::Module;
using Kernel = HipTable::Kernel;
using Graph = HipTable::Graph;
using Launchable = HipTable::Launchable;
using Pool = HipTable::Pool;
using Physical = HipTable::Physical;
using Access = HipTable::Access;
using Handle = HipTable::Handle;
using PhysicalProperties = HipTable::PhysicalProperties;
using Uuid = HipTable::Uuid;
using PointerAttributes = HipTable::PointerAttributes;
using Properties = HipTable::Properties;

}  // namespace

// The prototypes come from the tables, so a definition below that differs does not compile.
extern "C" {
#define BYTEWAYS_FUNCTION(member, symbol, introduced_in, requirement, signature) \
  std::type_identity_t<signature> symbol;
#include "runtimes/hip/hip.def"
#undef BYTEWAYS_FUNCTION
}

// And one that is left out does not link.
extern const void* const facade_functions[];
const void* const facade_functions[] = {
#define BYTEWAYS_FUNCTION(member, symbol, introduced_in, requirement, signature) \
  reinterpret_cast<const void*>(&symbol),
#include "runtimes/hip/hip.def"
#undef BYTEWAYS_FUNCTION
};

namespace {

constexpr int kVersion = 60200000;        // HIP 6.2: rules for copies exist, hipRTC may be asked for anything
constexpr int kInvalidValue = 1;          // hipErrorInvalidValue
constexpr int kInvalidDevice = 101;       // hipErrorInvalidDevice
constexpr int kNotInitialized = 3;        // hipErrorNotInitialized
constexpr int kMemoryNotSupported = 801;  // hipErrorNotSupported

bool is_device(int device) { return device >= 0 && device < static_cast<int>(cuda().devices.size()); }

int context_of(int device, CudaTable::Context& context) {
  CudaTable::Context& kept = cuda().contexts[static_cast<std::size_t>(device)];
  if (kept == nullptr)
    if (const int code = cuda().retain_context(&kept, cuda().devices[static_cast<std::size_t>(device)]))
      return code;
  context = kept;
  return 0;
}

// CU_DEVICE_ATTRIBUTE_* of a hipDeviceAttribute*, -1 when byteways asks for no such attribute.
int attribute_of(int attribute) {
  switch (attribute) {
    case HipTable::kDeviceCopyEngines:
      return CudaTable::kDeviceCopyEngines;
    case HipTable::kDeviceConcurrentManaged:
      return CudaTable::kDeviceConcurrentManaged;
    case HipTable::kDeviceIntegrated:
      return 18;  // CU_DEVICE_ATTRIBUTE_INTEGRATED
    case HipTable::kDeviceL2Bytes:
      return CudaTable::kDeviceL2Bytes;
    case HipTable::kDeviceManagedMemory:
      return CudaTable::kDeviceManagedMemory;
    case HipTable::kDeviceMemoryBusBits:
      return CudaTable::kDeviceMemoryBusBits;
    case HipTable::kDeviceMemoryClockKhz:
      return CudaTable::kDeviceMemoryClockKhz;
    case HipTable::kDeviceMultiprocessors:
      return CudaTable::kDeviceMultiprocessors;
    case HipTable::kDevicePageableAccess:
      return CudaTable::kDevicePageableAccess;
    case HipTable::kDeviceSharedBytes:
      return 8;  // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK
    default:
      return -1;
  }
}

}  // namespace

extern "C" {

int hipInit(unsigned flags) {
  if (!cuda().initialize) return kNotInitialized;
  if (const int code = cuda().initialize(flags)) return code;
  int count = 0;
  if (const int code = cuda().device_count(&count)) return code;
  cuda().devices.resize(static_cast<std::size_t>(count));
  cuda().contexts.resize(static_cast<std::size_t>(count));
  for (int device = 0; device < count; ++device)
    if (const int code = cuda().device_get(&cuda().devices[static_cast<std::size_t>(device)], device))
      return code;
  return 0;
}

int hipRuntimeGetVersion(int* version) {
  *version = kVersion;
  return 0;
}

// The codes are equal where it matters; the names are not.
const char* hipGetErrorName(int code) {
  switch (code) {
    case HipTable::kOutOfMemory:
      return "hipErrorOutOfMemory";
    case HipTable::kNotReady:
      return "hipErrorNotReady";
    case HipTable::kPeerAccessAlreadyEnabled:
      return "hipErrorPeerAccessAlreadyEnabled";
    case 100:
      return "hipErrorNoDevice";
    default:
      break;
  }
  const char* name = nullptr;
  if (!cuda().get_error_name || cuda().get_error_name(code, &name) != 0) return nullptr;
  return name;
}

const char* hipGetErrorString(int code) {
  const char* text = nullptr;
  if (!cuda().get_error_string || cuda().get_error_string(code, &text) != 0) return nullptr;
  return text;
}

int hipGetDeviceCount(int* count) {
  *count = static_cast<int>(cuda().devices.size());
  return 0;
}

int hipDeviceGetName(char* name, int length, Device device) {
  return cuda().device_name(name, length, handle(device));
}

// The first 8 bytes as hexadecimal digits: HIP's identifiers are 16 letters.
int hipDeviceGetUuid(Uuid* uuid, Device device) {
  CudaTable::Uuid whole{};
  if (const int code = cuda().device_uuid(&whole, handle(device))) return code;
  char digits[17];
  for (int i = 0; i < 8; ++i) std::snprintf(digits + 2 * i, 3, "%02x", whole.bytes[i]);
  std::memcpy(uuid->bytes, digits, sizeof uuid->bytes);
  return 0;
}

int hipDeviceGetPCIBusId(char* text, int length, Device device) {
  return cuda().device_pci_address(text, length, handle(device));
}

int hipDeviceGetAttribute(int* value, int attribute, Device device) {
  if (attribute_of(attribute) < 0) return kInvalidValue;
  return cuda().device_attribute(value, attribute_of(attribute), handle(device));
}

int hipDeviceTotalMem(std::size_t* bytes, Device device) {
  return cuda().device_memory(bytes, handle(device));
}

// The name at the front and the architecture near the end, as HIP 6 has them.
int hipGetDevicePropertiesR0600(Properties* properties, Device device) {
  constexpr std::size_t kArchitectureAt = 1160;
  std::strcpy(properties->bytes + kArchitectureAt, kArchitecture);
  return cuda().device_name(properties->bytes, 256, handle(device));
}

int hipGetDeviceProperties(Properties* properties, Device device) {
  return hipGetDevicePropertiesR0600(properties, device);
}

int hipDeviceCanAccessPeer(int* possible, Device device, Device peer) {
  return cuda().can_access_peer(possible, handle(device), handle(peer));
}

int hipGetDevice(Device* device) {
  CudaTable::Context context = nullptr;
  if (const int code = cuda().get_context(&context)) return code;
  *device = 0;  // without a context HIP's current device is the first
  return context == nullptr ? 0 : cuda().context_device(device);
}

// The driver keeps no failure for later calls.
int hipGetLastError() { return 0; }
int hipPeekAtLastError() { return 0; }

int hipStreamGetDevice(Stream stream, Device* device) {
  CudaTable::Context context = nullptr, before = nullptr;
  if (const int code = cuda().stream_context(as<CudaTable::Stream>(stream), &context)) return code;
  if (const int code = cuda().get_context(&before)) return code;
  cuda().set_context(context);
  const int code = cuda().context_device(device);
  cuda().set_context(before);
  return code;
}

int hipSetDevice(Device device) {
  CudaTable::Context context = nullptr;
  if (!is_device(device)) return 101;  // hipErrorInvalidDevice
  if (const int code = context_of(device, context)) return code;
  return cuda().set_context(context);
}

int hipDeviceEnablePeerAccess(Device peer, unsigned flags) {
  CudaTable::Context context = nullptr;
  if (const int code = context_of(peer, context)) return code;
  return cuda().enable_peer_access(context, flags);
}

PASS_ON(hipMalloc, cuda(), allocate_device, (void** data, std::size_t bytes), data, bytes)

// CUDA has one kind of device memory: both of AMD's others are that one.
int hipExtMallocWithFlags(void** data, std::size_t bytes, unsigned flags) {
  if (flags != HipTable::kDeviceFineGrained && flags != HipTable::kDeviceUncached) return kInvalidValue;
  return cuda().allocate_device(data, bytes);
}

PASS_ON(hipFree, cuda(), free_device, (void* data), data)

PASS_ON(hipMallocManaged, cuda(), allocate_managed, (void** data, std::size_t bytes, unsigned flags), data,
        bytes, flags)

// CUDA's managed memory has no grain to choose.
int hipMemAdvise(const void*, std::size_t, int advice, Device device) {
  return advice == HipTable::kAdviseCoarseGrain && is_device(device) ? 0 : kInvalidValue;
}

int hipHostMalloc(void** data, std::size_t bytes, unsigned flags) {
  constexpr unsigned kCoherence = HipTable::kHostCoherent | HipTable::kHostNonCoherent;
  if ((flags & kCoherence) == kCoherence) return kInvalidValue;
  return cuda().allocate_pinned(data, bytes, flags & ~(kCoherence | HipTable::kHostNumaUser));
}

int hipDeviceDisablePeerAccess(Device peer) {
  CudaTable::Context context = nullptr;
  if (const int code = context_of(peer, context)) return code;
  return cuda().disable_peer_access(context);
}
PASS_ON(hipIpcGetMemHandle, cuda(), get_handle, (Handle * memory, void* data), memory, data)
PASS_ON(hipIpcOpenMemHandle, cuda(), open_handle, (void** data, Handle memory, unsigned flags), data, memory,
        flags)
PASS_ON(hipIpcCloseMemHandle, cuda(), close_handle, (void* data), data)

PASS_ON(hipDeviceSynchronize, cuda(), synchronize_device, ())

int hipDeviceGetDefaultMemPool(Pool* pool, Device device) {
  return cuda().default_pool(as<CudaTable::Pool*>(pool), handle(device));
}
PASS_ON(hipMemPoolSetAttribute, cuda(), set_pool_attribute, (Pool pool, int attribute, void* value), pool,
        attribute, value)
PASS_ON(hipMemPoolSetAccess, cuda(), set_pool_access, (Pool pool, const Access* access, std::size_t count),
        pool, access, count)
PASS_ON(hipMemPoolTrimTo, cuda(), trim_pool, (Pool pool, std::size_t keep), pool, keep)
PASS_ON(hipMallocFromPoolAsync, cuda(), allocate_from_pool,
        (void** data, std::size_t bytes, Pool pool, Stream stream), data, bytes, pool, stream)
PASS_ON(hipFreeAsync, cuda(), free_to_pool, (void* data, Stream stream), data, stream)

// Ordinals are handles: CUDA's devices are numbered as they are got.
PASS_ON(hipMemGetAllocationGranularity, cuda(), granularity,
        (std::size_t* bytes, const PhysicalProperties* properties, int option), bytes, properties, option)
PASS_ON(hipMemCreate, cuda(), create_physical,
        (Physical * physical, std::size_t bytes, const PhysicalProperties* properties,
         unsigned long long flags),
        physical, bytes, properties, flags)
PASS_ON(hipMemRelease, cuda(), release_physical, (Physical physical), physical)
PASS_ON(hipMemAddressReserve, cuda(), reserve_addresses,
        (void** data, std::size_t bytes, std::size_t alignment, void* at, unsigned long long flags), data,
        bytes, alignment, at, flags)
PASS_ON(hipMemAddressFree, cuda(), free_addresses, (void* data, std::size_t bytes), data, bytes)
PASS_ON(hipMemMap, cuda(), map_physical,
        (void* data, std::size_t bytes, std::size_t offset, Physical physical, unsigned long long flags),
        data, bytes, offset, physical, flags)
PASS_ON(hipMemUnmap, cuda(), unmap_physical, (void* data, std::size_t bytes), data, bytes)
PASS_ON(hipMemSetAccess, cuda(), set_access,
        (void* data, std::size_t bytes, const Access* access, std::size_t count), data, bytes, access, count)

PASS_ON(hipHostFree, cuda(), free_pinned, (void* data), data)
PASS_ON(hipHostRegister, cuda(), register_host, (void* data, std::size_t bytes, unsigned flags), data, bytes,
        flags)
PASS_ON(hipHostUnregister, cuda(), unregister_host, (void* data), data)

int hipHostGetDevicePointer(void** device_pointer, void* data, unsigned) {
  int same = 0;
  if (const int code = cuda().device_attribute(&same, CudaTable::kDeviceHostPointerForRegistered, handle(0)))
    return code;
  if (same == 0) return kMemoryNotSupported;
  *device_pointer = data;
  return 0;
}

int hipMemPrefetchAsync(const void* data, std::size_t bytes, Device device, Stream stream) {
  void* const pages = const_cast<void*>(data);
  const auto queue = as<CudaTable::Stream>(stream);
  if (device != HipTable::kHostDevice && !is_device(device)) return kInvalidValue;
  const bool to_device = device != HipTable::kHostDevice;
  if (cuda().prefetch_to_location) {
    const CudaTable::Location location{to_device ? CudaTable::kLocationDevice : CudaTable::kLocationHost,
                                       to_device ? handle(device) : 0};
    return cuda().prefetch_to_location(pages, bytes, location, 0, queue);
  }
  return cuda().prefetch(pages, bytes, to_device ? handle(device) : CudaTable::kHostDevice, queue);
}

// What CUDA is asked for has the same number; its devices are handles.
int hipMemRangeGetAttribute(void* to, std::size_t room, int attribute, const void* data, std::size_t bytes) {
  CudaTable::Device where = 0;
  if (attribute != HipTable::kLastPrefetchLocation || room != sizeof where) return kInvalidValue;
  const int asked = CudaTable::kLastPrefetchLocation;
  if (const int code = cuda().range_attribute(&where, sizeof where, asked, data, bytes)) return code;
  Device found = where < 0 ? where : -2;  // hipInvalidDeviceId
  for (Device device = 0; is_device(device); ++device)
    if (where == handle(device)) found = device;
  *static_cast<Device*>(to) = found;
  return 0;
}

// hipMemoryTypeHost and hipMemoryTypeDevice have the numbers of CU_MEMORYTYPE_* since HIP 6.
int hipPointerGetAttributes(PointerAttributes* attributes, const void* data) {
  constexpr int kMemoryType = 2, kDevicePointer = 3, kIsManaged = 8, kOrdinal = 9;  // CU_POINTER_ATTRIBUTE_*
  *attributes = {};
  int wanted[] = {kMemoryType, kDevicePointer, kIsManaged, kOrdinal};
  void* values[] = {&attributes->type, &attributes->device_pointer, &attributes->is_managed,
                    &attributes->device};
  return cuda().pointer_attributes(4, wanted, values, data);
}

int hipPointerGetAttribute(void* value, int attribute, const void* data) {
  return cuda().pointer_attributes(1, &attribute, &value, data);
}

int hipMemGetAddressRange(void** start, std::size_t* bytes, void* data) {
  constexpr int kRangeStart = 11, kRangeBytes = 12;  // CU_POINTER_ATTRIBUTE_RANGE_*
  int wanted[] = {kRangeStart, kRangeBytes};
  void* values[] = {start, bytes};
  return cuda().pointer_attributes(2, wanted, values, data);
}

PASS_ON(hipMemGetInfo, cuda(), memory_info, (std::size_t* available, std::size_t* all), available, all)

// The driver finds the direction out by itself, as hipMemcpyDefault asks for.
int hipMemcpyAsync(void* destination, const void* source, std::size_t bytes, int kind, Stream stream) {
  if (kind != HipTable::kCopyDefault) return kInvalidValue;
  return cuda().copy_async(destination, source, bytes, as<CudaTable::Stream>(stream));
}

int hipMemsetAsync(void* data, int value, std::size_t bytes, Stream stream) {
  return cuda().set_bytes(data, static_cast<unsigned char>(value), bytes, as<CudaTable::Stream>(stream));
}

int hipMemcpy(void* destination, const void* source, std::size_t bytes, int kind) {
  if (kind != HipTable::kCopyDefault) return kInvalidValue;
  return cuda().copy_blocking(destination, source, bytes);
}

int hipMemcpyPeer(void* destination, Device to, const void* source, Device from, std::size_t bytes) {
  CudaTable::Context owner = nullptr, reader = nullptr;
  if (!is_device(to) || !is_device(from)) return kInvalidDevice;
  if (const int code = context_of(to, owner)) return code;
  if (const int code = context_of(from, reader)) return code;
  return cuda().copy_peer(destination, owner, source, reader, bytes);
}

int hipMemcpyPeerAsync(void* destination, Device to, const void* source, Device from, std::size_t bytes,
                       Stream stream) {
  CudaTable::Context owner = nullptr, reader = nullptr;
  if (!is_device(to) || !is_device(from)) return kInvalidDevice;
  if (const int code = context_of(to, owner)) return code;
  if (const int code = context_of(from, reader)) return code;
  return cuda().copy_peer_async(destination, owner, source, reader, bytes, as<CudaTable::Stream>(stream));
}

int hipMemset(void* data, int value, std::size_t bytes) {
  return cuda().set_bytes_blocking(data, static_cast<unsigned char>(value), bytes);
}

int hipMemcpy2DAsync(void* destination, std::size_t destination_pitch, const void* source,
                     std::size_t source_pitch, std::size_t width, std::size_t rows, int kind, Stream stream) {
  if (kind != HipTable::kCopyDefault) return kInvalidValue;
  const auto side = [](const void* data, std::size_t pitch) {
    CudaTable::RowsSide made;
    made.kind = CudaTable::kMemoryUnified;
    made.device = data;
    made.pitch = pitch;
    return made;
  };
  const CudaTable::RowsCopy wanted{side(source, source_pitch), side(destination, destination_pitch), width,
                                   rows};
  return cuda().copy_rows_async(&wanted, as<CudaTable::Stream>(stream));
}

PASS_ON(hipStreamBeginCapture, cuda(), begin_capture, (Stream stream, int mode), stream, mode)
PASS_ON(hipStreamEndCapture, cuda(), end_capture, (Stream stream, Graph* graph), stream, graph)
PASS_ON(hipGraphInstantiateWithFlags, cuda(), instantiate_graph,
        (Launchable * made, Graph graph, unsigned long long flags), made, graph, flags)
PASS_ON(hipGraphUpload, cuda(), upload_graph, (Launchable graph, Stream stream), graph, stream)
PASS_ON(hipGraphLaunch, cuda(), launch_graph, (Launchable graph, Stream stream), graph, stream)
PASS_ON(hipGraphDestroy, cuda(), destroy_graph, (Graph graph), graph)
PASS_ON(hipGraphExecDestroy, cuda(), destroy_launchable, (Launchable graph), graph)
int hipMemcpyBatchAsync(void** to, const void** from, std::size_t* sizes, std::size_t count, void*,
                        std::size_t*, std::size_t, std::size_t* failed, Stream stream) {
  CudaTable::BatchAttributes attributes{CudaTable::kOrderOfStream, {0, 0}, {0, 0}, 0};
  std::size_t first = 0;
  if (cuda().copy_batch)
    return cuda().copy_batch(to, from, sizes, count, &attributes, &first, 1, as<CudaTable::Stream>(stream));
  return cuda().copy_batch_before_13(to, from, sizes, count, &attributes, &first, 1, failed,
                                     as<CudaTable::Stream>(stream));
}

PASS_ON(hipStreamCreateWithFlags, cuda(), create_stream, (Stream * stream, unsigned flags), stream, flags)
PASS_ON(hipStreamDestroy, cuda(), destroy_stream, (Stream stream), stream)
PASS_ON(hipStreamSynchronize, cuda(), synchronize_stream, (Stream stream), stream)
PASS_ON(hipStreamWaitEvent, cuda(), wait_event, (Stream stream, Event event, unsigned flags), stream, event,
        flags)
PASS_ON(hipEventCreateWithFlags, cuda(), create_event, (Event * event, unsigned flags), event, flags)
PASS_ON(hipEventDestroy, cuda(), destroy_event, (Event event), event)
PASS_ON(hipEventRecord, cuda(), record_event, (Event event, Stream stream), event, stream)
PASS_ON(hipThreadExchangeStreamCaptureMode, cuda(), exchange_capture_mode, (int* mode), mode)
PASS_ON(hipStreamIsCapturing, cuda(), is_capturing, (Stream stream, int* status), stream, status)

PASS_ON(hipEventQuery, cuda(), query_event, (Event event), event)
PASS_ON(hipEventSynchronize, cuda(), synchronize_event, (Event event), event)
PASS_ON(hipEventElapsedTime, cuda(), elapsed_time, (float* milliseconds, Event begin, Event end),
        milliseconds, begin, end)

PASS_ON(hipModuleLoadData, cuda(), load_module, (Module * module, const void* image), module, image)
PASS_ON(hipModuleUnload, cuda(), unload_module, (Module module), module)

// A kernel of HIP is loaded with its module; CUDA's would be at its first launch, behind a shut gate.
int hipModuleGetFunction(Kernel* kernel, Module module, const char* name) {
  if (const int code = cuda().get_kernel(as<CudaTable::Kernel*>(kernel), as<CudaTable::Module>(module), name))
    return code;
  return cuda().load_kernel ? cuda().load_kernel(as<CudaTable::Kernel>(*kernel)) : 0;
}

PASS_ON(hipFuncGetAttribute, cuda(), kernel_attribute, (int* value, int attribute, Kernel kernel), value,
        attribute, kernel)
PASS_ON(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, cuda(), resident_blocks,
        (int* blocks, Kernel kernel, int threads, std::size_t shared_bytes), blocks, kernel, threads,
        shared_bytes)
PASS_ON(hipModuleLaunchKernel, cuda(), launch_kernel,
        (Kernel kernel, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
         unsigned threads_z, unsigned shared_bytes, Stream stream, void** arguments, void** extra),
        kernel, x, y, z, threads_x, threads_y, threads_z, shared_bytes, stream, arguments, extra)

}  // extern "C"

#pragma GCC visibility pop
