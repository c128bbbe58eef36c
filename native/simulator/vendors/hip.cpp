// The HIP runtime's entry points on the simulated machine: every row of runtimes/hip/hip.def.
//
// Like the real runtime, it needs no initialisation and reads the environment only at its first call. What
// both vendors have in common: gpu_twins.inc.
#include "simulator/vendors/hip.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "runtimes/gpu/memory_types.hpp"
#include "simulator/engine/thread_state.hpp"
#include "simulator/engine/timeline.hpp"
#include "simulator/machine/environment.hpp"
#include "simulator/vendors/api.hpp"
#include "simulator/vendors/kernels.hpp"
#include "simulator/vendors/rocprofiler.hpp"

namespace byteways::sim::hip_api {

using hip::HipTable;

namespace {

// hipDeviceProp_t before and since HIP 6: size, and offset of gcnArchName (256 characters).
constexpr std::size_t kOldProperties = 792, kOldArchitecture = 396;
constexpr std::size_t kNewProperties = 1472, kNewArchitecture = 1160;
constexpr std::size_t kNameRoom = 256;
constexpr std::uint64_t kKib = 1024;
// HIP 6.0: HIP 5 has no threshold for peers, and does not report copy engines (hip_device_runtime.cpp).
constexpr int kPeerThresholdVersion = HipTable::kVersion6, kCopyEnginesVersion = HipTable::kVersion6;

constexpr int kKeepsFailuresVersion = 70'000'000;
thread_local int last_error = 0;

bool keeps_failures() noexcept {
  try {
    static const bool keeps = world_of("amd").model().runtime_version >= kKeepsFailuresVersion;
    return keeps;
  } catch (...) {  // no machine
    return false;
  }
}

bool has_retry(const Model& model) { return model.gpu.architecture.find(":xnack") != std::string::npos; }

// The process environment at the first call.
struct Environment {
  CopyPolicy copies;
  Settings settings;
  std::vector<int> gpus;  // by ordinal
  explicit Environment(const Model& model) {
    copies.engines = number_of_variable("HSA_ENABLE_SDMA", 1) != 0;
    copies.peer_engines = number_of_variable("HSA_ENABLE_PEER_SDMA", 1) != 0;
    // ROCm 6, clr/rocclr/utils/flags.hpp: both in KiB. With ROCm 5.3 on Frontier, copies of 64 KiB and 1 MiB
    // between GPUs take as long as on an engine (pearson-frontier-raw2023).
    const bool has_threshold = model.runtime_version >= kPeerThresholdVersion;
    copies.blit_peer_up_to_bytes = kKib * number_of_variable("ROC_P2P_SDMA_SIZE", has_threshold ? 1024 : 0);
    copies.blit_opened = false;  // rocblit.cpp, KernelBlitManager::copyBuffer: ipcShared()
    copies.blit_host_up_to_bytes = kKib * number_of_variable("GPU_FORCE_BLIT_COPY_SIZE", 0);
    settings.hardware_queues = static_cast<int>(number_of_variable("GPU_MAX_HW_QUEUES", 0));
    settings.retry_faults = !has_retry(model) || number_of_variable("HSA_XNACK", 0) == 1;
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
  rocprofiler::load_tools();
  require(!first.gpus.empty(), code::kNoDevice);
  return first;
}

World& world() {
  environment();
  return World::get();
}

int gpu_of(Device device) {
  const std::vector<int>& gpus = environment().gpus;
  require(device >= 0 && device < static_cast<int>(gpus.size()), code::kInvalidDevice);
  return gpus[static_cast<std::size_t>(device)];
}
int current_gpu() { return gpu_of(this_thread().hip_device); }

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
      return static_cast<int>(Hip::shared_bytes());
    default:
      throw Refusal{code::kInvalidValue};
  }
}

// Writes a hipDeviceProp_t with only the two names.
void write_properties(Properties* properties, Device device, std::size_t size, std::size_t at) {
  gpu_of(device);
  require(properties != nullptr, code::kInvalidValue);
  std::memset(properties->bytes, 0, size);
  write_text(world().model().gpu.name, properties->bytes, kNameRoom);
  write_text(architecture(), properties->bytes + at, kNameRoom);
}

}  // namespace

int told(int code) noexcept {
  if (!keeps_failures() || (code != 0 && code != code::kNotReady)) last_error = code;
  return code;
}

World& Hip::world() { return hip_api::world(); }
int Hip::current_gpu() { return hip_api::current_gpu(); }
const std::vector<int>& Hip::gpus() { return environment().gpus; }
const CopyPolicy& Hip::copies() { return environment().copies; }
int Hip::gpu_of(int device) {
  world();
  return hip_api::gpu_of(device);
}

using Vendor = Hip;
#define BYTEWAYS_TWIN(cuda, hip) hip
#define BYTEWAYS_TRACED(name) const rocprofiler::Traced traced(rocprofiler::Called::name)
#include "simulator/vendors/gpu_twins.inc"

namespace {

constexpr int kUnsetCoarseGrain = 101;  // hipMemAdviseUnsetCoarseGrain

Place near_place() { return {Place::Kind::cpu, domain_of(world().model(), current_gpu())}; }

constexpr int kCopyWithoutKernel = 1024;  // hipMemcpyDeviceToDeviceNoCU

}  // namespace

extern "C" {

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

int hipGetDevicePropertiesR0600(Properties* properties, Device device) {
  return answer([&] { write_properties(properties, device, kNewProperties, kNewArchitecture); });
}

int hipGetDeviceProperties(Properties* properties, Device device) {
  return answer([&] { write_properties(properties, device, kOldProperties, kOldArchitecture); });
}

int hipSetDevice(Device device) {
  return answer([&] {
    gpu_of(device);
    this_thread().hip_device = device;
  });
}

int hipGetDevice(Device* device) {
  return answer([&] {
    world();
    give(device, this_thread().hip_device);
  });
}

int hipGetLastError() { return std::exchange(last_error, 0); }
int hipPeekAtLastError() { return last_error; }

int hipStreamGetDevice(Stream stream, Device* device) {
  return answer([&] { give(device, device_of(stream_of(stream)->place)); });
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

// --- memory

// Of HIP 6 and later: unregistered, host, device are 0, 1, 2; before, host and device are 0 and 1.
int hipPointerGetAttributes(PointerAttributes* attributes, const void* data) {
  return answer([&] {
    const std::optional<World::Extent> extent = world().extent_of(data);
    require(attributes != nullptr && extent && !is_plain(extent->kind), code::kInvalidValue);
    const int host = world().model().runtime_version < HipTable::kVersion6 ? 0 : 1;
    const bool on_gpu = is_device(extent->kind);
    *attributes = {};
    attributes->type = on_gpu ? host + 1 : host;
    attributes->device = on_gpu ? device_of(extent->owner) : 0;
    attributes->device_pointer = const_cast<void*>(data);
    attributes->host_pointer = on_gpu ? nullptr : const_cast<void*>(data);
    attributes->is_managed = is_managed(extent->kind) ? 1 : 0;
  });
}

// The runtime gives 32 bits of the identity (clr, hip_memory.cpp).
int hipPointerGetAttribute(void* value, int attribute, const void* data) {
  return answer([&] {
    const std::optional<World::Extent> extent = world().extent_of(data);
    require(value != nullptr && attribute == HipTable::kBufferId && extent && !is_plain(extent->kind),
            code::kInvalidValue);
    *static_cast<std::uint32_t*>(value) = static_cast<std::uint32_t>(extent->number);
  });
}

int hipMemGetAddressRange(void** start, std::size_t* bytes, void* data) {
  return answer([&] {
    const std::optional<World::Extent> extent = world().extent_of(data);
    require(extent && !is_plain(extent->kind), code::kInvalidValue);
    give(start, static_cast<void*>(extent->data));
    give(bytes, static_cast<std::size_t>(extent->bytes));
  });
}

int hipExtMallocWithFlags(void** data, std::size_t bytes, unsigned flags) {
  BYTEWAYS_TRACED(hipExtMallocWithFlags);
  switch (flags) {
    case 0:
      return allocate(data, bytes, Kind::device);
    case Table::kDeviceFineGrained:
      return allocate(data, bytes, Kind::device_fine);
    case Table::kDeviceUncached:
      return allocate(data, bytes, Kind::device_uncached);
    default:
      return told(forget_sentence(code::kInvalidValue));
  }
}

int hipMemAdvise(const void* data, std::size_t, int advice, Device) {
  return answer([&] {
    require(data != nullptr && (advice == Table::kAdviseCoarseGrain || advice == kUnsetCoarseGrain),
            code::kInvalidValue);
    world().set_kind(const_cast<void*>(data),
                     advice == Table::kAdviseCoarseGrain ? Kind::managed_coarse : Kind::managed);
  });
}

int hipHostMalloc(void** data, std::size_t bytes, unsigned flags) {
  BYTEWAYS_TRACED(hipHostMalloc);
  return answer([&] {
    require(data != nullptr && bytes != 0, code::kInvalidValue);
    // Near the current device, unless the caller requests its own placement.
    const Place place = (flags & Table::kHostNumaUser) != 0 ? host_place() : near_place();
    const bool cached = (flags & Table::kHostNonCoherent) != 0;
    const bool combined = (flags & Table::kHostWriteCombined) != 0;
    *data = world().allocate(place,
                             cached     ? Kind::pinned_noncoherent
                             : combined ? Kind::write_combined
                                        : Kind::pinned,
                             bytes);
  });
}

int hipHostFree(void* data) {
  BYTEWAYS_TRACED(hipHostFree);
  return free_memory(data);
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
                     device == Table::kHostDevice ? near_place() : gpu_place(gpu_of(device)),
                     stream_of(stream));
  });
}

// Another process simulates a separate machine, so handles work only between ranks of this one.
int hipIpcOpenMemHandle(void** data, Handle handle, unsigned flags) {
  // hipIpcMemLazyEnablePeerAccess of the version, which takes no other flag.
  const unsigned known = world_of("amd").model().runtime_version < 60'000'000 ? 0 : 1;
  if (flags != known) return told(code::kInvalidValue);
  return open_handle(data, handle);
}

// --- copies and kernels

int hipMemcpy2DAsync(void* destination, std::size_t destination_pitch, const void* source,
                     std::size_t source_pitch, std::size_t width, std::size_t rows, int kind, Stream stream) {
  BYTEWAYS_TRACED(hipMemcpy2DAsync);
  return answer([&] {
    require(destination != nullptr && source != nullptr && kind == Table::kCopyDefault, code::kInvalidValue);
    world().copy_rows(destination, destination_pitch, source, source_pitch, width, rows, stream_of(stream),
                      Hip::copies());
  });
}

int hipMemcpyAsync(void* destination, const void* source, std::size_t bytes, int kind, Stream stream) {
  BYTEWAYS_TRACED(hipMemcpyAsync);
  return answer([&] {
    require(destination != nullptr && source != nullptr, code::kInvalidValue);
    require((kind >= 0 && kind <= Table::kCopyDefault) || kind == kCopyWithoutKernel, code::kInvalidValue);
    CopyPolicy policy = Hip::copies();
    if (kind == kCopyWithoutKernel) {
      policy.engines = policy.peer_engines = true;
      policy.blit_peer_up_to_bytes = policy.blit_host_up_to_bytes = 0;
    }
    if (bytes != 0) world().copy(destination, source, bytes, stream_of(stream), policy);
  });
}

int hipMemcpy(void* destination, const void* source, std::size_t bytes, int kind) {
  BYTEWAYS_TRACED(hipMemcpy);
  return answer([&] {
    require(kind >= 0 && kind <= Table::kCopyDefault, code::kInvalidValue);
    copy_blocking(destination, source, bytes);
  });
}

int hipMemcpyBatchAsync(void** to, const void** from, std::size_t* sizes, std::size_t count, void*,
                        std::size_t*, std::size_t, std::size_t*, Stream stream) {
  BYTEWAYS_TRACED(hipMemcpyBatchAsync);
  return copy_batch(to, from, sizes, count, stream, Hip::copies());
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::hip_api
