// The HIP runtime's entry points on the simulated machine: every row of runtimes/hip/hip.def.
//
// As the real runtime, it needs no initialisation, and reads the environment at its first call, never again.
// Streams, events, modules and kernels: api_queue.hpp.
#include "simulator/hip_api.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>

#include "simulator/api.hpp"
#include "simulator/api_queue.hpp"

namespace byteways::sim::hip_api {

using hip::HipTable;
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

namespace {

constexpr int kCopyWithoutKernel = 1024;  // hipMemcpyDeviceToDeviceNoCU
constexpr int kUnsetCoarseGrain = 101;    // hipMemAdviseUnsetCoarseGrain
// hipDeviceProp_t before and since HIP 6: size, and where gcnArchName, 256 characters, stands in it.
constexpr std::size_t kOldProperties = 792, kOldArchitecture = 396;
constexpr std::size_t kNewProperties = 1472, kNewArchitecture = 1160;
constexpr std::size_t kNameRoom = 256;
// The rate is the product of clock and width; the model has the rate only. With 100 bytes a transfer every
// rate that is a multiple of 200 kB/s makes a whole number of kHz.
constexpr int kMemoryBusBytes = 100;
constexpr std::uint64_t kKib = 1024;
// HIP 6.0: HIP 5 has no threshold for peers, and refuses to tell its engines (hip_device_runtime.cpp).
constexpr int kPeerThresholdVersion = 60'000'000, kCopyEnginesVersion = 60'000'000;

// A number of the environment, or the default when it is not set or is no number.
std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  return *end == '\0' ? value : otherwise;
}

bool has_retry(const Model& model) { return model.gpu.architecture.find(":xnack") != std::string::npos; }

// The process's environment at the first call.
struct Environment {
  CopyPolicy copies;
  Settings settings;
  std::vector<int> gpus;  // by ordinal
  explicit Environment(const Model& model) {
    copies.engines = number_of("HSA_ENABLE_SDMA", 1) != 0;
    copies.peer_engines = number_of("HSA_ENABLE_PEER_SDMA", 1) != 0;
    // ROCm 6, clr/rocclr/utils/flags.hpp: both in KiB. With ROCm 5.3 on Frontier, copies of 64 KiB and 1 MiB
    // between GPUs take what an engine takes (pearson-frontier-raw2023).
    const bool has_threshold = model.runtime_version >= kPeerThresholdVersion;
    copies.blit_peer_up_to_bytes = kKib * number_of("ROC_P2P_SDMA_SIZE", has_threshold ? 1024 : 0);
    copies.blit_host_up_to_bytes = kKib * number_of("GPU_FORCE_BLIT_COPY_SIZE", 0);
    settings.hardware_queues = static_cast<int>(number_of("GPU_MAX_HW_QUEUES", 0));
    settings.retry_faults = !has_retry(model) || number_of("HSA_XNACK", 0) == 1;
    gpus.resize(static_cast<std::size_t>(model.gpu.count));
    std::iota(gpus.begin(), gpus.end(), 0);
    const auto uuid = [&](int gpu) { return amd_uuid_text(model, gpu); };
    if (const char* list = std::getenv("ROCR_VISIBLE_DEVICES")) gpus = choose_visible(gpus, list, uuid);
    const char* list = std::getenv("HIP_VISIBLE_DEVICES");
    if (list == nullptr || *list == '\0') list = std::getenv("CUDA_VISIBLE_DEVICES");
    if (list != nullptr && *list != '\0') gpus = choose_visible(gpus, list, uuid);
  }
};

const Environment& environment() {
  World& machine = world_of("amd");
  static const Environment first(machine.model());
  static std::once_flag configured;
  std::call_once(configured, [&] { machine.configure(first.settings); });
  require(!first.gpus.empty(), code::kNoDevice);
  return first;
}

World& world() {
  environment();
  return World::get();
}

thread_local Device current = 0;

int gpu_of(Device device) {
  const std::vector<int>& gpus = environment().gpus;
  require(device >= 0 && device < static_cast<int>(gpus.size()), code::kInvalidDevice);
  return gpus[static_cast<std::size_t>(device)];
}
int current_gpu() { return gpu_of(current); }

using Queue = QueueCalls<Hip>;

Place gpu_place(int gpu) { return {Place::Kind::gpu, gpu}; }
Place near_place() { return {Place::Kind::cpu, domain_of(world().model(), current_gpu())}; }

// "gfx90a:sramecc+:xnack-", with the retry mode of this process.
std::string architecture() {
  const Environment& process = environment();
  std::string name = world().model().gpu.architecture;
  const std::size_t at = name.find(":xnack");
  if (at != std::string::npos) name.replace(at, 7, process.settings.retry_faults ? ":xnack+" : ":xnack-");
  return name;
}

int attribute_of(const Model& model, int attribute) {
  switch (attribute) {
    case HipTable::kDeviceCopyEngines:
      require(model.runtime_version >= kCopyEnginesVersion, code::kInvalidValue);
      return model.gpu.copy_engines;
    case HipTable::kDeviceManagedMemory:
    case HipTable::kDeviceConcurrentManaged:
      return model.managed_memory ? 1 : 0;
    case HipTable::kDeviceIntegrated:
      return model.host_access ? 1 : 0;
    case HipTable::kDeviceL2Bytes:
      return static_cast<int>(model.gpu.cache_bytes);
    case HipTable::kDeviceMemoryBusBits:
      return 8 * kMemoryBusBytes;
    case HipTable::kDeviceMemoryClockKhz:
      return static_cast<int>(
          model.gpu.memory_bytes_per_s /
          (1e3 * hip::transfers_per_memory_clock(model.gpu.architecture) * kMemoryBusBytes));
    case HipTable::kDeviceMultiprocessors:
      return model.gpu.multiprocessors;
    case HipTable::kDevicePageableAccess:
      return model.pageable_access && environment().settings.retry_faults ? 1 : 0;
    case HipTable::kDeviceSharedBytes:
      return Hip::kSharedBytes;
    default:
      throw Refusal{code::kInvalidValue};
  }
}

// Number of a place among the visible ones.
Device device_of(const std::optional<Place>& place) {
  constexpr Device kInvalid = -2;  // hipInvalidDeviceId
  if (!place) return kInvalid;
  if (place->kind == Place::Kind::cpu) return HipTable::kHostDevice;
  const std::vector<int>& gpus = environment().gpus;
  const auto found = std::find(gpus.begin(), gpus.end(), place->index);
  return found == gpus.end() ? kInvalid : static_cast<Device>(found - gpus.begin());
}

// A hipDeviceProp_t with nothing but the two names.
void write_properties(Properties* properties, Device device, std::size_t size, std::size_t at) {
  gpu_of(device);
  require(properties != nullptr, code::kInvalidValue);
  std::memset(properties->bytes, 0, size);
  write_text(world().model().gpu.name, properties->bytes, kNameRoom);
  write_text(architecture(), properties->bytes + at, kNameRoom);
}

void* allocate(Place place, Kind kind, std::size_t bytes) {
  require(bytes != 0, code::kInvalidValue);
  return world().allocate(place, kind, bytes);
}

int release(void* data) {
  return answer([&] {
    if (data != nullptr) world().release(data);
  });
}

}  // namespace

World& Hip::world() { return hip_api::world(); }
int Hip::current_gpu() { return hip_api::current_gpu(); }
int Hip::gpu_of(int device) {
  world();
  return hip_api::gpu_of(device);
}

extern "C" {

#define BYTEWAYS_FUNCTION BYTEWAYS_ENTRY_POINT
#include "runtimes/hip/hip.def"
#undef BYTEWAYS_FUNCTION

int hipInit(unsigned flags) {
  return answer([&] {
    require(flags == 0, code::kInvalidValue);
    world();
  });
}

int hipRuntimeGetVersion(int* version) {
  return answer([&] { give(version, world_of("amd").model().runtime_version); });
}

const char* hipGetErrorName(int number) {
  const ErrorWords* words = error_words(number);
  return words == nullptr ? "hipErrorUnknown" : words->hip;
}
const char* hipGetErrorString(int number) {
  const ErrorWords* words = error_words(number);
  return words == nullptr ? "unknown error" : text_of(number, words->hip_text);
}

int hipGetDeviceCount(int* count) {
  return answer([&] { give(count, static_cast<int>(environment().gpus.size())); });
}

int hipDeviceGetName(char* name, int room, Device device) {
  return answer([&] {
    gpu_of(device);
    write_text(world().model().gpu.name, name, static_cast<std::size_t>(std::max(0, room)));
  });
}

int hipDeviceGetUuid(Uuid* uuid, Device device) {
  return answer([&] {
    const std::string text = amd_uuid_text(world().model(), gpu_of(device));
    require(uuid != nullptr, code::kInvalidValue);
    text.copy(uuid->bytes, sizeof uuid->bytes, std::strlen("GPU-"));
  });
}

int hipDeviceGetPCIBusId(char* address, int room, Device device) {
  return answer([&] {
    write_text(world().model().gpu.pci_addresses.at(static_cast<std::size_t>(gpu_of(device))), address,
               static_cast<std::size_t>(std::max(0, room)));
  });
}

int hipDeviceGetAttribute(int* value, int attribute, Device device) {
  return answer([&] {
    gpu_of(device);
    give(value, attribute_of(world().model(), attribute));
  });
}

int hipDeviceTotalMem(std::size_t* bytes, Device device) {
  return answer([&] {
    gpu_of(device);
    give(bytes, static_cast<std::size_t>(world().model().gpu.memory_bytes));
  });
}

int hipGetDevicePropertiesR0600(Properties* properties, Device device) {
  return answer([&] { write_properties(properties, device, kNewProperties, kNewArchitecture); });
}
int hipGetDeviceProperties(Properties* properties, Device device) {
  return answer([&] { write_properties(properties, device, kOldProperties, kOldArchitecture); });
}

int hipDeviceCanAccessPeer(int* possible, Device device, Device peer) {
  return answer([&] { give(possible, world().can_access_peer(gpu_of(device), gpu_of(peer)) ? 1 : 0); });
}

int hipSetDevice(Device device) {
  return answer([&] {
    gpu_of(device);
    current = device;
  });
}

int hipDeviceEnablePeerAccess(Device peer, unsigned flags) {
  return answer([&] {
    require(flags == 0, code::kInvalidValue);
    world().enable_peer(current_gpu(), gpu_of(peer));
  });
}

int hipDeviceDisablePeerAccess(Device peer) {
  return answer([&] { world().disable_peer(current_gpu(), gpu_of(peer)); });
}

int hipMalloc(void** data, std::size_t bytes) {
  return answer([&] { give(data, allocate(gpu_place(current_gpu()), Kind::device, bytes)); });
}

int hipExtMallocWithFlags(void** data, std::size_t bytes, unsigned flags) {
  return answer([&] {
    require(flags == 0 || flags == HipTable::kDeviceFineGrained || flags == HipTable::kDeviceUncached,
            code::kInvalidValue);
    const Kind kind = flags == 0                              ? Kind::device
                      : flags == HipTable::kDeviceFineGrained ? Kind::device_fine
                                                              : Kind::device_uncached;
    give(data, allocate(gpu_place(current_gpu()), kind, bytes));
  });
}

int hipFree(void* data) { return release(data); }

int hipMallocManaged(void** data, std::size_t bytes, unsigned flags) {
  return answer([&] {
    require(flags == HipTable::kAttachGlobal, code::kInvalidValue);
    require(world().model().managed_memory, code::kNotSupported);
    const Model& model = world().model();
    give(data, allocate({Place::Kind::cpu, host_domain(model, current_gpu())}, Kind::managed, bytes));
  });
}

int hipMemAdvise(const void* data, std::size_t, int advice, Device) {
  return answer([&] {
    require(data != nullptr && (advice == HipTable::kAdviseCoarseGrain || advice == kUnsetCoarseGrain),
            code::kInvalidValue);
    world().set_kind(const_cast<void*>(data),
                     advice == HipTable::kAdviseCoarseGrain ? Kind::managed_coarse : Kind::managed);
  });
}

int hipHostMalloc(void** data, std::size_t bytes, unsigned flags) {
  return answer([&] {
    // Beside the current device, unless the caller asks for its own placement.
    const Place place = (flags & HipTable::kHostNumaUser) != 0
                            ? Place{Place::Kind::cpu, host_domain(world().model(), current_gpu())}
                            : near_place();
    const bool cached = (flags & HipTable::kHostNonCoherent) != 0;
    const bool combined = (flags & HipTable::kHostWriteCombined) != 0;
    give(data, allocate(place,
                        cached     ? Kind::pinned_noncoherent
                        : combined ? Kind::write_combined
                                   : Kind::pinned,
                        bytes));
  });
}

int hipHostFree(void* data) { return release(data); }

int hipHostRegister(void* data, std::size_t bytes, unsigned) {
  return answer([&] {
    require(data != nullptr && bytes != 0, code::kInvalidValue);
    world().set_kind(data, Kind::registered);
  });
}

int hipHostUnregister(void* data) {
  return answer([&] {
    require(data != nullptr, code::kInvalidValue);
    world().set_kind(data, Kind::pageable);
  });
}

int hipHostGetDevicePointer(void** device_data, void* data, unsigned flags) {
  return answer([&] {
    require(data != nullptr && flags == 0, code::kInvalidValue);
    world();
    give(device_data, data);
  });
}

int hipMemPrefetchAsync(const void* data, std::size_t bytes, Device device, Stream stream) {
  return answer([&] {
    world().prefetch(const_cast<void*>(data), bytes,
                     device == HipTable::kHostDevice ? near_place() : gpu_place(gpu_of(device)),
                     Queue::stream_of(stream));
  });
}

int hipMemRangeGetAttribute(void* to, std::size_t room, int attribute, const void* data, std::size_t bytes) {
  return answer([&] {
    require(attribute == HipTable::kLastPrefetchLocation && room == sizeof(Device), code::kInvalidValue);
    give(static_cast<Device*>(to), device_of(world().last_prefetch(data, bytes)));
  });
}

int hipMemGetInfo(std::size_t* available, std::size_t* all) {
  return answer([&] {
    give(available, static_cast<std::size_t>(world().free_bytes(gpu_place(current_gpu()))));
    give(all, static_cast<std::size_t>(world().model().gpu.memory_bytes));
  });
}

int hipMemcpy2DAsync(void* destination, std::size_t destination_pitch, const void* source,
                     std::size_t source_pitch, std::size_t width, std::size_t rows, int kind, Stream stream) {
  return answer([&] {
    require(destination != nullptr && source != nullptr && kind == HipTable::kCopyDefault,
            code::kInvalidValue);
    world().copy_rows(destination, destination_pitch, source, source_pitch, width, rows,
                      Queue::stream_of(stream), environment().copies);
  });
}

int hipMemcpyAsync(void* destination, const void* source, std::size_t bytes, int kind, Stream stream) {
  return answer([&] {
    require(destination != nullptr && source != nullptr, code::kInvalidValue);
    require((kind >= 0 && kind <= HipTable::kCopyDefault) || kind == kCopyWithoutKernel, code::kInvalidValue);
    CopyPolicy policy = environment().copies;
    if (kind == kCopyWithoutKernel) {
      policy.engines = policy.peer_engines = true;
      policy.blit_peer_up_to_bytes = policy.blit_host_up_to_bytes = 0;
    }
    if (bytes != 0) world().copy(destination, source, bytes, Queue::stream_of(stream), policy);
  });
}

int hipStreamCreateWithFlags(Stream* stream, unsigned) { return Queue::create(stream); }
int hipStreamDestroy(Stream stream) { return Queue::destroy(stream); }
int hipStreamSynchronize(Stream stream) { return Queue::synchronize(stream); }
int hipStreamWaitEvent(Stream stream, Event event, unsigned) { return Queue::wait(stream, event); }

int hipEventCreateWithFlags(Event* event, unsigned) { return Queue::create(event); }
int hipEventDestroy(Event event) { return Queue::destroy(event); }
int hipEventRecord(Event event, Stream stream) { return Queue::record(event, stream); }
int hipEventQuery(Event event) { return Queue::query(event); }
int hipEventSynchronize(Event event) { return Queue::synchronize(event); }
int hipEventElapsedTime(float* milliseconds, Event begin, Event end) {
  return Queue::elapsed(milliseconds, begin, end);
}

int hipStreamBeginCapture(Stream stream, int) { return Queue::begin_capture(stream); }

int hipStreamEndCapture(Stream stream, Graph* graph) { return Queue::end_capture(stream, graph); }

int hipGraphInstantiateWithFlags(Launchable* made, Graph graph, unsigned long long) {
  return Queue::instantiate(made, graph);
}

int hipGraphUpload(Launchable, Stream) { return 0; }

int hipGraphLaunch(Launchable graph, Stream stream) { return Queue::launch(graph, stream); }

int hipGraphDestroy(Graph graph) { return Queue::forget(graph); }

int hipGraphExecDestroy(Launchable graph) { return Queue::forget(graph); }

int hipMemcpyBatchAsync(void** to, const void** from, std::size_t* sizes, std::size_t count, void*,
                        std::size_t*, std::size_t, std::size_t*, Stream stream) {
  return Queue::copy_batch(to, from, sizes, count, stream, environment().copies);
}

int hipModuleLoadData(Module* module, const void* image) { return Queue::load(module, image); }

int hipModuleGetFunction(Kernel* kernel, Module module, const char* name) {
  return Queue::find(kernel, module, name);
}

int hipFuncGetAttribute(int* value, int attribute, Kernel kernel) {
  return Queue::attribute(value, attribute, kernel);
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int threads,
                                                       std::size_t shared) {
  return Queue::occupancy(blocks, kernel, threads, shared);
}

int hipModuleLaunchKernel(Kernel kernel, unsigned blocks, unsigned blocks_y, unsigned blocks_z,
                          unsigned threads, unsigned threads_y, unsigned threads_z, unsigned shared,
                          Stream stream, void** parameters, void** extra) {
  return Queue::launch(kernel, {blocks, threads, shared}, blocks_y * blocks_z, threads_y * threads_z, stream,
                       parameters, extra);
}

}  // extern "C"

namespace {
[[gnu::used]] void (*const entry_points[])() = {
#define BYTEWAYS_FUNCTION BYTEWAYS_ENTRY_ADDRESS
#include "runtimes/hip/hip.def"
#undef BYTEWAYS_FUNCTION
};
}  // namespace

}  // namespace byteways::sim::hip_api
