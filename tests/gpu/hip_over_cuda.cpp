// HIP over a CUDA driver: every function of hip.def and hiprtc.def, carried out by libcuda and libnvrtc. With
// it the HIP side of byteways runs end to end on an NVIDIA GPU, and the two sides can be compared there.
//
// What differs between the two is translated here and nowhere else: device numbers and current devices
// instead of contexts, attributes by number, kinds of memory, prefetching. BYTEWAYS_LIBCUDA is left to the
// session, which must not find CUDA; this file reads FACADE_LIBCUDA and FACADE_LIBNVRTC.
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "runtimes/cuda/driver.hpp"
#include "runtimes/cuda/nvrtc.hpp"
#include "runtimes/hip/driver.hpp"
#include "runtimes/hip/hiprtc.hpp"

#pragma GCC visibility push(default)

namespace {

using byteways::Library;
using byteways::LibraryReport;
using byteways::cuda::CudaTable;
using byteways::cuda::NvrtcTable;
using byteways::hip::HiprtcTable;
using byteways::hip::HipTable;

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
using Properties = HipTable::Properties;
using Program = HiprtcTable::Program;

}  // namespace

// The prototypes come from the tables, so a definition below that differs does not compile.
extern "C" {
#define BYTEWAYS_FUNCTION(member, symbol, introduced_in, requirement, signature) \
  std::type_identity_t<signature> symbol;
#include "runtimes/hip/hip.def"
#include "runtimes/hip/hiprtc.def"
#undef BYTEWAYS_FUNCTION
}

// And one that is left out does not link.
extern const void* const facade_functions[];
const void* const facade_functions[] = {
#define BYTEWAYS_FUNCTION(member, symbol, introduced_in, requirement, signature) \
  reinterpret_cast<const void*>(&symbol),
#include "runtimes/hip/hip.def"
#include "runtimes/hip/hiprtc.def"
#undef BYTEWAYS_FUNCTION
};

// nvrtc.cpp is not part of this library: it needs the embedded sources.
void byteways::cuda::NvrtcTable::bind(const Library& library, LibraryReport& report) {
#define BYTEWAYS_FUNCTION BYTEWAYS_BIND
#include "runtimes/cuda/nvrtc.def"
#undef BYTEWAYS_FUNCTION
}

namespace {

constexpr int kVersion = 60200000;  // HIP 6.2: rules for copies exist, hipRTC may be asked for anything
constexpr const char* kArchitecture = "gfx90a:sramecc+:xnack-";
constexpr int kInvalidValue = 1;          // hipErrorInvalidValue
constexpr int kNotInitialized = 3;        // hipErrorNotInitialized
constexpr int kMemoryNotSupported = 801;  // hipErrorNotSupported

struct Cuda : CudaTable {
  Cuda() {
    LibraryReport report;
    const Library library = Library::open({"libcuda.so.1"}, {}, "FACADE_LIBCUDA", {}, report);
    bind(library, report);
  }
  std::vector<CudaTable::Device> devices;
  std::vector<CudaTable::Context> contexts;  // primary, made at first use
};

struct Nvrtc : NvrtcTable {
  Nvrtc() {
    LibraryReport report;
    bind(
        Library::open({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, {}, "FACADE_LIBNVRTC", {}, report),
        report);
  }
};

Cuda& cuda() {
  static Cuda driver;
  return driver;
}

Nvrtc& nvrtc() {
  static Nvrtc compiler;
  return compiler;
}

bool is_device(int device) { return device >= 0 && device < static_cast<int>(cuda().devices.size()); }

int context_of(int device, CudaTable::Context& context) {
  CudaTable::Context& kept = cuda().contexts[static_cast<std::size_t>(device)];
  if (kept == nullptr)
    if (const int code = cuda().retain_context(&kept, cuda().devices[static_cast<std::size_t>(device)]))
      return code;
  context = kept;
  return 0;
}

CudaTable::Device handle(int device) { return cuda().devices.at(static_cast<std::size_t>(device)); }

template <class To, class From>
To as(From handle) {
  return reinterpret_cast<To>(handle);
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

int hipMalloc(void** data, std::size_t bytes) { return cuda().allocate_device(data, bytes); }

// CUDA has one kind of device memory: both of AMD's others are that one.
int hipExtMallocWithFlags(void** data, std::size_t bytes, unsigned flags) {
  if (flags != HipTable::kDeviceFineGrained && flags != HipTable::kDeviceUncached) return kInvalidValue;
  return cuda().allocate_device(data, bytes);
}

int hipFree(void* data) { return cuda().free_device(data); }

int hipMallocManaged(void** data, std::size_t bytes, unsigned flags) {
  return cuda().allocate_managed(data, bytes, flags);
}

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
int hipIpcGetMemHandle(Handle* memory, void* data) { return cuda().get_handle(memory, data); }
int hipIpcOpenMemHandle(void** data, Handle memory, unsigned flags) {
  return cuda().open_handle(data, memory, flags);
}
int hipIpcCloseMemHandle(void* data) { return cuda().close_handle(data); }

int hipDeviceSynchronize() { return cuda().synchronize_device(); }

int hipDeviceGetDefaultMemPool(Pool* pool, Device device) {
  return cuda().default_pool(as<CudaTable::Pool*>(pool), handle(device));
}
int hipMemPoolSetAttribute(Pool pool, int attribute, void* value) {
  return cuda().set_pool_attribute(as<CudaTable::Pool>(pool), attribute, value);
}
int hipMemPoolSetAccess(Pool pool, const Access* access, std::size_t count) {
  return cuda().set_pool_access(as<CudaTable::Pool>(pool), access, count);
}
int hipMemPoolTrimTo(Pool pool, std::size_t keep) {
  return cuda().trim_pool(as<CudaTable::Pool>(pool), keep);
}
int hipMallocFromPoolAsync(void** data, std::size_t bytes, Pool pool, Stream stream) {
  return cuda().allocate_from_pool(data, bytes, as<CudaTable::Pool>(pool), as<CudaTable::Stream>(stream));
}
int hipFreeAsync(void* data, Stream stream) {
  return cuda().free_to_pool(data, as<CudaTable::Stream>(stream));
}

// Ordinals are handles: CUDA's devices are numbered as they are got.
int hipMemGetAllocationGranularity(std::size_t* bytes, const PhysicalProperties* properties, int option) {
  return cuda().granularity(bytes, properties, option);
}
int hipMemCreate(Physical* physical, std::size_t bytes, const PhysicalProperties* properties,
                 unsigned long long flags) {
  CudaTable::Physical made = 0;
  const int code = cuda().create_physical(&made, bytes, properties, flags);
  *physical = reinterpret_cast<Physical>(made);
  return code;
}
int hipMemRelease(Physical physical) {
  return cuda().release_physical(reinterpret_cast<CudaTable::Physical>(physical));
}
int hipMemAddressReserve(void** data, std::size_t bytes, std::size_t alignment, void* at,
                         unsigned long long flags) {
  return cuda().reserve_addresses(data, bytes, alignment, at, flags);
}
int hipMemAddressFree(void* data, std::size_t bytes) { return cuda().free_addresses(data, bytes); }
int hipMemMap(void* data, std::size_t bytes, std::size_t offset, Physical physical,
              unsigned long long flags) {
  return cuda().map_physical(data, bytes, offset, reinterpret_cast<CudaTable::Physical>(physical), flags);
}
int hipMemUnmap(void* data, std::size_t bytes) { return cuda().unmap_physical(data, bytes); }
int hipMemSetAccess(void* data, std::size_t bytes, const Access* access, std::size_t count) {
  return cuda().set_access(data, bytes, access, count);
}

int hipHostFree(void* data) { return cuda().free_pinned(data); }
int hipHostRegister(void* data, std::size_t bytes, unsigned flags) {
  return cuda().register_host(data, bytes, flags);
}
int hipHostUnregister(void* data) { return cuda().unregister_host(data); }

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

int hipMemGetInfo(std::size_t* available, std::size_t* all) { return cuda().memory_info(available, all); }

// The driver finds the direction out by itself, as hipMemcpyDefault asks for.
int hipMemcpyAsync(void* destination, const void* source, std::size_t bytes, int kind, Stream stream) {
  if (kind != HipTable::kCopyDefault) return kInvalidValue;
  return cuda().copy_async(destination, source, bytes, as<CudaTable::Stream>(stream));
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

int hipStreamBeginCapture(Stream stream, int mode) {
  return cuda().begin_capture(as<CudaTable::Stream>(stream), mode);
}
int hipStreamEndCapture(Stream stream, Graph* graph) {
  return cuda().end_capture(as<CudaTable::Stream>(stream), as<CudaTable::Graph*>(graph));
}
int hipGraphInstantiateWithFlags(Launchable* made, Graph graph, unsigned long long flags) {
  return cuda().instantiate_graph(as<CudaTable::Launchable*>(made), as<CudaTable::Graph>(graph), flags);
}
int hipGraphUpload(Launchable graph, Stream stream) {
  return cuda().upload_graph(as<CudaTable::Launchable>(graph), as<CudaTable::Stream>(stream));
}
int hipGraphLaunch(Launchable graph, Stream stream) {
  return cuda().launch_graph(as<CudaTable::Launchable>(graph), as<CudaTable::Stream>(stream));
}
int hipGraphDestroy(Graph graph) { return cuda().destroy_graph(as<CudaTable::Graph>(graph)); }
int hipGraphExecDestroy(Launchable graph) {
  return cuda().destroy_launchable(as<CudaTable::Launchable>(graph));
}
int hipMemcpyBatchAsync(void** to, const void** from, std::size_t* sizes, std::size_t count, void*,
                        std::size_t*, std::size_t, std::size_t* failed, Stream stream) {
  CudaTable::BatchAttributes attributes{CudaTable::kOrderOfStream, {0, 0}, {0, 0}, 0};
  std::size_t first = 0;
  if (cuda().copy_batch)
    return cuda().copy_batch(to, from, sizes, count, &attributes, &first, 1, as<CudaTable::Stream>(stream));
  return cuda().copy_batch_before_13(to, from, sizes, count, &attributes, &first, 1, failed,
                                     as<CudaTable::Stream>(stream));
}

int hipStreamCreateWithFlags(Stream* stream, unsigned flags) {
  return cuda().create_stream(as<CudaTable::Stream*>(stream), flags);
}
int hipStreamDestroy(Stream stream) { return cuda().destroy_stream(as<CudaTable::Stream>(stream)); }
int hipStreamSynchronize(Stream stream) { return cuda().synchronize_stream(as<CudaTable::Stream>(stream)); }
int hipStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  return cuda().wait_event(as<CudaTable::Stream>(stream), as<CudaTable::Event>(event), flags);
}
int hipEventCreateWithFlags(Event* event, unsigned flags) {
  return cuda().create_event(as<CudaTable::Event*>(event), flags);
}
int hipEventDestroy(Event event) { return cuda().destroy_event(as<CudaTable::Event>(event)); }
int hipEventRecord(Event event, Stream stream) {
  return cuda().record_event(as<CudaTable::Event>(event), as<CudaTable::Stream>(stream));
}
int hipEventQuery(Event event) { return cuda().query_event(as<CudaTable::Event>(event)); }
int hipEventSynchronize(Event event) { return cuda().synchronize_event(as<CudaTable::Event>(event)); }
int hipEventElapsedTime(float* milliseconds, Event begin, Event end) {
  return cuda().elapsed_time(milliseconds, as<CudaTable::Event>(begin), as<CudaTable::Event>(end));
}

int hipModuleLoadData(Module* module, const void* image) {
  return cuda().load_module(as<CudaTable::Module*>(module), image);
}

// A kernel of HIP is loaded with its module; CUDA's would be at its first launch, behind a shut gate.
int hipModuleGetFunction(Kernel* kernel, Module module, const char* name) {
  if (const int code = cuda().get_kernel(as<CudaTable::Kernel*>(kernel), as<CudaTable::Module>(module), name))
    return code;
  return cuda().load_kernel ? cuda().load_kernel(as<CudaTable::Kernel>(*kernel)) : 0;
}

int hipFuncGetAttribute(int* value, int attribute, Kernel kernel) {
  return cuda().kernel_attribute(value, attribute, as<CudaTable::Kernel>(kernel));
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int threads,
                                                       std::size_t shared_bytes) {
  return cuda().resident_blocks(blocks, as<CudaTable::Kernel>(kernel), threads, shared_bytes);
}
int hipModuleLaunchKernel(Kernel kernel, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                          unsigned threads_y, unsigned threads_z, unsigned shared_bytes, Stream stream,
                          void** arguments, void** extra) {
  return cuda().launch_kernel(as<CudaTable::Kernel>(kernel), x, y, z, threads_x, threads_y, threads_z,
                              shared_bytes, as<CudaTable::Stream>(stream), arguments, extra);
}

int hiprtcVersion(int* major, int* minor) {  // what every hipRTC answers
  *major = 9;
  *minor = 0;
  return 0;
}
const char* hiprtcGetErrorString(int code) { return nvrtc().get_error_string(code); }
int hiprtcCreateProgram(Program* program, const char* source, const char* name, int headers,
                        const char* const* texts, const char* const* names) {
  return nvrtc().create_program(as<NvrtcTable::Program*>(program), source, name, headers, texts, names);
}
int hiprtcDestroyProgram(Program* program) {
  return nvrtc().destroy_program(as<NvrtcTable::Program*>(program));
}

// For the GPU that is there, whatever architecture was asked for.
int hiprtcCompileProgram(Program program, int count, const char* const* options) {
  constexpr int kInvalidOption = 5;  // HIPRTC_ERROR_INVALID_OPTION
  if (count != 3 || std::string(options[0]) != std::string("--offload-arch=") + kArchitecture)
    return kInvalidOption;
  int major = 0, minor = 0;
  if (cuda().device_attribute(&major, CudaTable::kDeviceCapabilityMajor, handle(0)) != 0 ||
      cuda().device_attribute(&minor, CudaTable::kDeviceCapabilityMinor, handle(0)) != 0)
    return kInvalidOption;
  const std::string target = "--gpu-architecture=sm_" + std::to_string(10 * major + minor);
  const char* const translated[] = {target.c_str(), "--std=c++17"};
  return nvrtc().compile_program(as<NvrtcTable::Program>(program), 2, translated);
}

int hiprtcGetCodeSize(Program program, std::size_t* bytes) {
  return nvrtc().get_cubin_size(as<NvrtcTable::Program>(program), bytes);
}
int hiprtcGetCode(Program program, char* code) {
  return nvrtc().get_cubin(as<NvrtcTable::Program>(program), code);
}
int hiprtcGetProgramLogSize(Program program, std::size_t* bytes) {
  return nvrtc().get_log_size(as<NvrtcTable::Program>(program), bytes);
}
int hiprtcGetProgramLog(Program program, char* log) {
  return nvrtc().get_log(as<NvrtcTable::Program>(program), log);
}

}  // extern "C"

#pragma GCC visibility pop
