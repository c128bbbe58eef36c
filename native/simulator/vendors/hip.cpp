// The HIP runtime's entry points on the simulated machine: every row of runtimes/hip/hip.def.
//
// Like the real runtime, it needs no initialisation and reads the environment only at its first call. Memory:
// hip_memory.cpp; queues: hip_queue.cpp.
#include "simulator/vendors/hip.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>

#include "simulator/engine/thread_state.hpp"
#include "simulator/machine/environment.hpp"
#include "simulator/vendors/api.hpp"
#include "simulator/vendors/devices.hpp"

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

using Devices = DeviceCalls<Hip>;

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

// Writes a hipDeviceProp_t with only the two names.
void write_properties(Properties* properties, Device device, std::size_t size, std::size_t at) {
  gpu_of(device);
  require(properties != nullptr, code::kInvalidValue);
  std::memset(properties->bytes, 0, size);
  write_text(world().model().gpu.name, properties->bytes, kNameRoom);
  write_text(architecture(), properties->bytes + at, kNameRoom);
}

}  // namespace

World& Hip::world() { return hip_api::world(); }
int Hip::current_gpu() { return hip_api::current_gpu(); }
const std::vector<int>& Hip::gpus() { return environment().gpus; }
const CopyPolicy& Hip::copies() { return environment().copies; }
int Hip::gpu_of(int device) {
  world();
  return hip_api::gpu_of(device);
}

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

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

int hipDeviceGetName(char* name, int room, Device device) { return Devices::name(name, room, device); }

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

int hipDeviceTotalMem(std::size_t* bytes, Device device) { return Devices::memory(bytes, device); }

int hipGetDevicePropertiesR0600(Properties* properties, Device device) {
  return answer([&] { write_properties(properties, device, kNewProperties, kNewArchitecture); });
}

int hipGetDeviceProperties(Properties* properties, Device device) {
  return answer([&] { write_properties(properties, device, kOldProperties, kOldArchitecture); });
}

int hipDeviceCanAccessPeer(int* possible, Device device, Device peer) {
  return Devices::can_access_peer(possible, device, peer);
}

int hipSetDevice(Device device) {
  return answer([&] {
    gpu_of(device);
    this_thread().hip_device = device;
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

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::hip_api
