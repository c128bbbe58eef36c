// The CUDA driver's entry points on the simulated machine: every row of runtimes/cuda/cuda.def.
//
// A device is its ordinal among the visible ones; a context is a pointer that the caller cannot look into.
// Streams, events, modules and kernels: api_queue.hpp.
#include "simulator/cuda_api.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>

#include "simulator/api.hpp"
#include "simulator/api_queue.hpp"

namespace byteways::sim::cuda_api {

using cuda::CudaTable;
using Device = CudaTable::Device;
using Context = CudaTable::Context;
using Stream = CudaTable::Stream;
using Event = CudaTable::Event;
using Module = CudaTable::Module;
using Kernel = CudaTable::Kernel;
using Graph = CudaTable::Graph;
using Launchable = CudaTable::Launchable;
using BatchAttributes = CudaTable::BatchAttributes;
using Pool = CudaTable::Pool;
using Physical = CudaTable::Physical;
using Access = CudaTable::Access;
using Handle = CudaTable::Handle;
using PhysicalProperties = CudaTable::PhysicalProperties;
using Uuid = CudaTable::Uuid;
using Location = CudaTable::Location;
using RowsCopy = CudaTable::RowsCopy;

namespace {

// The rate is the product of clock and width; the model has the rate only. With 100 bytes a transfer every
// rate that is a multiple of 200 kB/s makes a whole number of kHz.
constexpr int kMemoryBusBytes = 100;

struct Visible {
  std::mutex mutex;
  std::atomic<bool> initialised{false};
  std::vector<int> gpus;  // by ordinal; read from the environment at the first cuInit
};
Visible& visible() {
  static Visible state;
  return state;
}

thread_local int current = -1;  // GPU of the thread's context, -1: none

World& world() {
  require(visible().initialised, code::kNotInitialized);
  return world_of("nvidia");
}

int gpu_of(Device device) {
  const std::vector<int>& gpus = visible().gpus;
  require(device >= 0 && device < static_cast<int>(gpus.size()), code::kInvalidDevice);
  return gpus[static_cast<std::size_t>(device)];
}

int current_gpu() {
  require(current >= 0, code::kInvalidContext);
  return current;
}

// A context is the number of its GPU, counted from 1: there is one a GPU, and nothing to keep in it.
Context context_of(int gpu) { return reinterpret_cast<Context>(static_cast<std::uintptr_t>(gpu) + 1); }
int gpu_of(Context context) {
  const auto number = reinterpret_cast<std::uintptr_t>(context);
  const std::vector<int>& gpus = visible().gpus;
  const int gpu = static_cast<int>(number) - 1;
  require(std::find(gpus.begin(), gpus.end(), gpu) != gpus.end(), code::kInvalidContext);
  return gpu;
}

using Queue = QueueCalls<Cuda>;

Place gpu_place(int gpu) { return {Place::Kind::gpu, gpu}; }
Place host_place() { return {Place::Kind::cpu, host_domain(world().model(), current_gpu())}; }

// "sm_90": 90.
int capability(const Model& model) {
  constexpr std::size_t kPrefix = 3;
  return model.gpu.architecture.starts_with("sm_") ? std::atoi(model.gpu.architecture.c_str() + kPrefix) : 0;
}

int attribute_of(const Model& model, int attribute) {
  switch (attribute) {
    case CudaTable::kDeviceMultiprocessors:
      return model.gpu.multiprocessors;
    case CudaTable::kDeviceMemoryClockKhz:
      return static_cast<int>(model.gpu.memory_bytes_per_s / (2e3 * kMemoryBusBytes));
    case CudaTable::kDeviceMemoryBusBits:
      return 8 * kMemoryBusBytes;
    case CudaTable::kDeviceL2Bytes:
      return static_cast<int>(model.gpu.cache_bytes);
    case CudaTable::kDeviceCopyEngines:
      return model.gpu.copy_engines;
    case CudaTable::kDeviceCapabilityMajor:
      return capability(model) / 10;
    case CudaTable::kDeviceCapabilityMinor:
      return capability(model) % 10;
    case CudaTable::kDeviceManagedMemory:
    case CudaTable::kDeviceConcurrentManaged:
      return model.managed_memory ? 1 : 0;
    case CudaTable::kDevicePageableAccess:
      return model.pageable_access ? 1 : 0;
    case CudaTable::kDeviceHostPointerForRegistered:
    case CudaTable::kDeviceMapsMemory:
    case CudaTable::kDeviceHasPools:
      return 1;
    case CudaTable::kDeviceSharedBytesOptIn:
      return Cuda::kSharedBytes;
    default:
      throw Refusal{code::kInvalidValue};
  }
}

int word_of(int number, const char** to, const char* ErrorWords::* column) {
  const ErrorWords* words = error_words(number);
  if (to == nullptr || words == nullptr) return code::kInvalidValue;
  *to = words->*column;
  return 0;
}

// Ordinal of a place among the visible ones.
Device device_of(const std::optional<Place>& place) {
  constexpr Device kInvalid = -2;  // CU_DEVICE_INVALID
  if (!place) return kInvalid;
  if (place->kind == Place::Kind::cpu) return CudaTable::kHostDevice;
  const std::vector<int>& gpus = visible().gpus;
  const auto found = std::find(gpus.begin(), gpus.end(), place->index);
  return found == gpus.end() ? kInvalid : static_cast<Device>(found - gpus.begin());
}

// Only where kernels reach pages matters here: with a preferred location and an accessor they stay.
void advise(const void* data, int advice) {
  require(data != nullptr && advice >= CudaTable::kPreferredLocation && advice <= CudaTable::kNotAccessedBy,
          code::kInvalidValue);
  world().hold(data, advice == CudaTable::kPreferredLocation || advice == CudaTable::kAccessedBy);
}

void prefetch(void* data, std::size_t bytes, Place to, Stream stream) {
  world().prefetch(data, bytes, to, Queue::stream_of(stream));
}

}  // namespace

World& Cuda::world() { return cuda_api::world(); }
int Cuda::current_gpu() { return cuda_api::current_gpu(); }
int Cuda::gpu_of(int device) {
  world();
  return cuda_api::gpu_of(device);
}

extern "C" {

#define BYTEWAYS_FUNCTION BYTEWAYS_ENTRY_POINT
#include "runtimes/cuda/cuda.def"
#undef BYTEWAYS_FUNCTION

int cuInit(unsigned flags) {
  return answer([&] {
    require(flags == 0, code::kInvalidValue);
    const Model& model = world_of("nvidia").model();
    Visible& state = visible();
    const std::lock_guard lock(state.mutex);
    if (state.initialised) return;
    std::vector<int> gpus(static_cast<std::size_t>(model.gpu.count));
    std::iota(gpus.begin(), gpus.end(), 0);
    if (const char* list = std::getenv("CUDA_VISIBLE_DEVICES"))
      gpus = choose_visible(gpus, list, [&](int gpu) { return nvidia_uuid_text(model, gpu); });
    require(!gpus.empty(), code::kNoDevice);
    state.gpus = std::move(gpus);
    state.initialised = true;
  });
}

int cuDriverGetVersion(int* version) {
  return answer([&] { give(version, world_of("nvidia").model().runtime_version); });
}

int cuGetErrorName(int number, const char** name) { return word_of(number, name, &ErrorWords::cuda); }
int cuGetErrorString(int number, const char** text) {
  const int failed = word_of(number, text, &ErrorWords::cuda_text);
  if (failed == 0) *text = text_of(number, *text);
  return failed;
}

int cuDeviceGetCount(int* count) {
  return answer([&] {
    world();
    give(count, static_cast<int>(visible().gpus.size()));
  });
}

int cuDeviceGet(Device* device, int ordinal) {
  return answer([&] {
    world();
    gpu_of(ordinal);
    give(device, ordinal);
  });
}

int cuDeviceGetName(char* name, int room, Device device) {
  return answer([&] {
    const Model& model = world().model();
    gpu_of(device);
    write_text(model.gpu.name, name, static_cast<std::size_t>(std::max(0, room)));
  });
}

int cuDeviceGetUuid(Uuid* uuid, Device device) {
  return answer([&] {
    const sim::Uuid found = nvidia_uuid(world().model(), gpu_of(device));
    require(uuid != nullptr, code::kInvalidValue);
    std::copy(std::begin(found.bytes), std::end(found.bytes), uuid->bytes);
  });
}

int cuDeviceGetUuid_v2(Uuid* uuid, Device device) {  // no GPU here is divided, so that both are the same
  return answer([&] {
    const sim::Uuid found = nvidia_uuid(world().model(), gpu_of(device));
    require(uuid != nullptr, code::kInvalidValue);
    std::copy(std::begin(found.bytes), std::end(found.bytes), uuid->bytes);
  });
}

int cuDeviceGetPCIBusId(char* address, int room, Device device) {
  return answer([&] {
    const Model& model = world().model();
    std::string text = model.gpu.pci_addresses.at(static_cast<std::size_t>(gpu_of(device)));
    for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    write_text(text, address, static_cast<std::size_t>(std::max(0, room)));
  });
}

int cuDeviceGetAttribute(int* value, int attribute, Device device) {
  return answer([&] {
    const Model& model = world().model();
    gpu_of(device);
    give(value, attribute_of(model, attribute));
  });
}

int cuDeviceTotalMem_v2(std::size_t* bytes, Device device) {
  return answer([&] {
    const Model& model = world().model();
    gpu_of(device);
    give(bytes, static_cast<std::size_t>(model.gpu.memory_bytes));
  });
}

int cuDeviceCanAccessPeer(int* possible, Device device, Device peer) {
  return answer([&] { give(possible, world().can_access_peer(gpu_of(device), gpu_of(peer)) ? 1 : 0); });
}

int cuDevicePrimaryCtxRetain(Context* context, Device device) {
  return answer([&] {
    world();
    give(context, context_of(gpu_of(device)));
  });
}

int cuCtxSetCurrent(Context context) {
  return answer([&] {
    world();
    current = context == nullptr ? -1 : gpu_of(context);
  });
}

int cuCtxEnablePeerAccess(Context peer, unsigned flags) {
  return answer([&] {
    require(flags == 0, code::kInvalidValue);
    world().enable_peer(current_gpu(), gpu_of(peer));
  });
}

int cuCtxDisablePeerAccess(Context peer) {
  return answer([&] { world().disable_peer(current_gpu(), gpu_of(peer)); });
}

int cuMemAlloc_v2(void** data, std::size_t bytes) {
  return answer([&] {
    require(data != nullptr && bytes != 0, code::kInvalidValue);
    *data = world().allocate(gpu_place(current_gpu()), Kind::device, bytes);
  });
}

int cuMemFree_v2(void* data) {
  return answer([&] {
    if (data != nullptr) world().release(data);
  });
}

int cuMemAllocManaged(void** data, std::size_t bytes, unsigned flags) {
  return answer([&] {
    require(data != nullptr && bytes != 0 && flags == CudaTable::kAttachGlobal, code::kInvalidValue);
    require(world().model().managed_memory, code::kNotSupported);
    *data = world().allocate(host_place(), Kind::managed, bytes);
  });
}

int cuMemHostAlloc(void** data, std::size_t bytes, unsigned flags) {
  return answer([&] {
    require(data != nullptr && bytes != 0, code::kInvalidValue);
    const bool combined = (flags & CudaTable::kHostWriteCombined) != 0;
    *data = world().allocate(host_place(), combined ? Kind::write_combined : Kind::pinned, bytes);
  });
}

int cuMemFreeHost(void* data) {
  return answer([&] {
    require(data != nullptr, code::kInvalidValue);
    world().release(data);
  });
}

int cuMemHostRegister_v2(void* data, std::size_t bytes, unsigned) {
  return answer([&] {
    require(data != nullptr && bytes != 0, code::kInvalidValue);
    current_gpu();
    world().set_kind(data, Kind::registered);
  });
}

int cuMemHostUnregister(void* data) {
  return answer([&] {
    require(data != nullptr, code::kInvalidValue);
    world().set_kind(data, Kind::pageable);
  });
}

int cuMemPrefetchAsync(void* data, std::size_t bytes, Device device, Stream stream) {
  return answer([&] {
    prefetch(data, bytes, device == CudaTable::kHostDevice ? host_place() : gpu_place(gpu_of(device)),
             stream);
  });
}

int cuMemPrefetchAsync_v2(void* data, std::size_t bytes, Location to, unsigned flags, Stream stream) {
  return answer([&] {
    require(flags == 0 && (to.type == CudaTable::kLocationDevice || to.type == CudaTable::kLocationHost),
            code::kInvalidValue);
    prefetch(data, bytes,
             to.type == CudaTable::kLocationHost ? host_place() : gpu_place(gpu_of(Device{to.id})), stream);
  });
}

int cuMemAdvise(void* data, std::size_t, int advice, Device) {
  return answer([&] { cuda_api::advise(data, advice); });
}
int cuMemAdvise_v2(void* data, std::size_t, int advice, Location) {
  return answer([&] { cuda_api::advise(data, advice); });
}

int cuMemRangeGetAttribute(void* to, std::size_t room, int attribute, const void* data, std::size_t bytes) {
  return answer([&] {
    require(attribute == CudaTable::kLastPrefetchLocation && room == sizeof(Device), code::kInvalidValue);
    give(static_cast<Device*>(to), device_of(world().last_prefetch(data, bytes)));
  });
}

int cuMemGetInfo_v2(std::size_t* available, std::size_t* all) {
  return answer([&] {
    give(available, static_cast<std::size_t>(world().free_bytes(gpu_place(current_gpu()))));
    give(all, static_cast<std::size_t>(world().model().gpu.memory_bytes));
  });
}

int cuMemcpyAsync(void* destination, const void* source, std::size_t bytes, Stream stream) {
  return answer([&] {
    require(destination != nullptr && source != nullptr, code::kInvalidValue);
    if (bytes != 0) world().copy(destination, source, bytes, Queue::stream_of(stream), CopyPolicy{});
  });
}

int cuMemcpy2DAsync_v2(const CudaTable::RowsCopy* rows, Stream stream) {
  return answer([&] {
    require(rows != nullptr, code::kInvalidValue);
    const auto address = [](const CudaTable::RowsSide& side) {
      require(side.x == 0 && side.y == 0 && side.array == nullptr, code::kNotSupported);
      require(side.kind == CudaTable::kMemoryHost || side.kind == CudaTable::kMemoryUnified,
              code::kInvalidValue);
      const void* data = side.kind == CudaTable::kMemoryHost ? side.host : side.device;
      require(data != nullptr, code::kInvalidValue);
      return data;
    };
    world().copy_rows(const_cast<void*>(address(rows->destination)), rows->destination.pitch,
                      address(rows->source), rows->source.pitch, rows->width_bytes, rows->rows,
                      Queue::stream_of(stream), CopyPolicy{});
  });
}

int cuStreamCreate(Stream* stream, unsigned) { return Queue::create(stream); }

int cuStreamDestroy_v2(Stream stream) { return Queue::destroy(stream); }

int cuStreamSynchronize(Stream stream) { return Queue::synchronize(stream); }

int cuStreamWaitEvent(Stream stream, Event event, unsigned) { return Queue::wait(stream, event); }

int cuEventCreate(Event* event, unsigned) { return Queue::create(event); }

int cuEventDestroy_v2(Event event) { return Queue::destroy(event); }

int cuEventRecord(Event event, Stream stream) { return Queue::record(event, stream); }

int cuEventQuery(Event event) { return Queue::query(event); }

int cuEventSynchronize(Event event) { return Queue::synchronize(event); }

int cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  return Queue::elapsed(milliseconds, begin, end);
}

int cuStreamBeginCapture_v2(Stream stream, int) { return Queue::begin_capture(stream); }

int cuStreamEndCapture(Stream stream, Graph* graph) { return Queue::end_capture(stream, graph); }

int cuGraphInstantiateWithFlags(Launchable* made, Graph graph, unsigned long long) {
  return Queue::instantiate(made, graph);
}

int cuGraphUpload(Launchable, Stream) { return 0; }

int cuGraphLaunch(Launchable graph, Stream stream) { return Queue::launch(graph, stream); }

int cuGraphDestroy(Graph graph) { return Queue::forget(graph); }

int cuGraphExecDestroy(Launchable graph) { return Queue::forget(graph); }

int cuMemcpyBatchAsync_v2(void** to, const void** from, const std::size_t* sizes, std::size_t count,
                          BatchAttributes*, std::size_t*, std::size_t, Stream stream) {
  return Queue::copy_batch(to, from, sizes, count, stream, CopyPolicy{});
}

int cuMemcpyBatchAsync(void** to, const void** from, const std::size_t* sizes, std::size_t count,
                       BatchAttributes*, std::size_t*, std::size_t, std::size_t*, Stream stream) {
  return Queue::copy_batch(to, from, sizes, count, stream, CopyPolicy{});
}

int cuModuleLoadData(Module* module, const void* image) { return Queue::load(module, image); }

int cuModuleGetFunction(Kernel* kernel, Module module, const char* name) {
  return Queue::find(kernel, module, name);
}

int cuFuncLoad(Kernel kernel) {
  return answer([&] { Queue::kernel_of(kernel); });
}

int cuFuncGetAttribute(int* value, int attribute, Kernel kernel) {
  return Queue::attribute(value, attribute, kernel);
}

int cuFuncSetAttribute(Kernel kernel, int attribute, int value) {
  return answer([&] {
    Queue::kernel_of(kernel);
    require(attribute == CudaTable::kKernelMaxDynamicSharedBytes && value >= 0 && value <= Cuda::kSharedBytes,
            code::kInvalidValue);
  });
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int threads, std::size_t shared) {
  return Queue::occupancy(blocks, kernel, threads, shared);
}

int cuLaunchKernel(Kernel kernel, unsigned blocks, unsigned blocks_y, unsigned blocks_z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned shared, Stream stream, void** parameters,
                   void** extra) {
  return Queue::launch(kernel, {blocks, threads, shared}, blocks_y * blocks_z, threads_y * threads_z, stream,
                       parameters, extra);
}

}  // extern "C"

namespace {
[[gnu::used]] void (*const entry_points[])() = {
#define BYTEWAYS_FUNCTION BYTEWAYS_ENTRY_ADDRESS
#include "runtimes/cuda/cuda.def"
#undef BYTEWAYS_FUNCTION
};
}  // namespace

}  // namespace byteways::sim::cuda_api
