// NVML's entry points on the simulated machine: every row of runtimes/cuda/nvml.def. A device is its number
// in the model, counted from 1; CUDA_VISIBLE_DEVICES has no effect here. Values without a number in the model
// (temperature, power, energy) are not supported, as on a GPU without the sensor.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "runtimes/cuda/nvml_types.hpp"
#include "simulator/vendors/api.hpp"

#define BYTEWAYS_ENTRY_TABLE "runtimes/cuda/nvml.def"

namespace byteways::sim::nvml_api {

using cuda::NvmlTypes;
using Device = NvmlTypes::Device;
using PciInfo = NvmlTypes::PciInfo;
using MemoryInfo = NvmlTypes::MemoryInfo;
using FieldValue = NvmlTypes::FieldValue;
using Utilisation = NvmlTypes::Utilisation;

namespace {

// nvmlReturn_t.
constexpr int kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kDriverNotLoaded = 9, kGpuIsLost = 15,
              kUnknown = 999;
constexpr unsigned long long kHardwareSlowdown = 8;               // nvmlClocksEventReasonHwSlowdown
constexpr int kRemoteGpu = 0, kRemoteCpu = 1, kRemoteSwitch = 2;  // nvmlIntNvLinkDeviceType_t
constexpr int kUnsignedInt = 1, kUnsignedLongLong = 3;            // nvmlValueType_t
// The memory's rate is clock times width; the model only has the rate. With 100 bytes per transfer, rates
// that are multiples of 200 MB/s give a whole number of MHz.
constexpr int kMemoryBusBytes = 100;

template <class Body>
int tell(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const Refusal& refusal) {
    return refusal.code;
  } catch (const Failure& failure) {
    return failure.code() == Code::device_lost ? kGpuIsLost : kUnknown;
  } catch (...) {
    return kUnknown;
  }
}

World& world() {
  World& world = World::get();
  require(world.model().vendor == "nvidia", kDriverNotLoaded);
  return world;
}

Device device_of(int gpu) { return reinterpret_cast<Device>(static_cast<std::uintptr_t>(gpu) + 1); }
int gpu_of(Device device) {
  const int gpu = static_cast<int>(reinterpret_cast<std::uintptr_t>(device)) - 1;
  require(gpu >= 0 && gpu < world().model().gpu.count, kInvalidArgument);
  return gpu;
}

template <class Value>
void put(Value* to, Value value) {
  require(to != nullptr, kInvalidArgument);
  *to = value;
}

void write(std::string_view text, char* to, unsigned room) {
  require(to != nullptr && room > 0, kInvalidArgument);
  write_text(text, to, room);
}

// One NVLink of a GPU and its far end.
struct Lane {
  const LinkModel* bundle;
  std::string remote;  // "gpu1", "nvswitch"
};

// The GPU's links, bundle by bundle.
std::vector<Lane> lanes_of(int gpu) {
  const std::string name = "gpu" + std::to_string(gpu);
  std::vector<Lane> lanes;
  for (const LinkModel& link : world().model().links)
    if (link.kind == "nvlink" && (link.a == name || link.b == name))
      lanes.insert(lanes.end(), static_cast<std::size_t>(link.width),
                   {&link, link.a == name ? link.b : link.a});
  return lanes;
}

Lane lane_of(Device device, unsigned link) {
  const std::vector<Lane> lanes = lanes_of(gpu_of(device));
  require(link < lanes.size(), kInvalidArgument);
  return lanes[link];
}

const LinkModel& pcie_of(Device device) {
  const Model& model = world().model();
  const int gpu = gpu_of(device);
  const LinkModel* link =
      model.link_between("cpu" + std::to_string(domain_of(model, gpu)), "gpu" + std::to_string(gpu));
  require(link != nullptr && link->kind == "pcie", kNotSupported);
  return *link;
}

// Data-centre GPUs have 16 lanes; the model has the total rate.
constexpr unsigned kPcieLanes = 16;
// The generation with the nearest nominal rate (PCI Express Base Specification 6.0, section 4.2; bytes/s per
// lane after line encoding, generations 1 to 6).
unsigned pcie_generation(const LinkModel& link) {
  constexpr double kLane[] = {250e6, 500e6, 984.6e6, 1969e6, 3938e6, 7563e6};
  const double lane = link.peak_bytes_per_s / kPcieLanes;
  const auto nearer = [&](double a, double b) {
    return std::abs(std::log(a / lane)) < std::abs(std::log(b / lane));
  };
  return static_cast<unsigned>(std::min_element(std::begin(kLane), std::end(kLane), nearer) - kLane) + 1;
}

// nvmlNvlinkVersion_t by architecture: 2.0, 3.0, 4.0 and 5.0 (whitepapers of V100, A100, H100, B200).
unsigned nvlink_version(const Model& model) {
  constexpr std::pair<const char*, unsigned> kVersions[] = {
      {"sm_70", 2}, {"sm_80", 4}, {"sm_90", 6}, {"sm_100", 7}};
  for (const auto& [architecture, version] : kVersions)
    if (model.gpu.architecture == architecture) return version;
  throw Refusal{kNotSupported};
}

PciInfo pci_of(int gpu) {
  PciInfo info{};
  const std::string& address = world().model().gpu.pci_addresses.at(static_cast<std::size_t>(gpu));
  require(std::sscanf(address.c_str(), "%x:%x:%x", &info.domain, &info.bus, &info.device) == 3, kUnknown);
  std::snprintf(info.legacy_address, sizeof info.legacy_address, "%04X:%02X:%02X.0", info.domain & 0xFFFF,
                info.bus & 0xFF, info.device & 0xFF);
  std::snprintf(info.address, sizeof info.address, "%08X:%02X:%02X.0", info.domain, info.bus & 0xFF,
                info.device & 0xFF);
  return info;
}

// Returns 3 for "gpu3"; -1 if the name is not a GPU.
int gpu_named(const std::string& name) {
  return name.starts_with("gpu") ? std::atoi(name.c_str() + std::strlen("gpu")) : -1;
}

void answer_number(FieldValue& field, int type, unsigned long long value) {
  field.type = type;
  field.value.wide = value;
  if (type == kUnsignedInt) field.value.narrow = static_cast<unsigned>(value);
}

void answer_field(int gpu, FieldValue& field) {
  constexpr unsigned long long kKib = 1024;
  const std::vector<Lane> lanes = lanes_of(gpu);
  const bool of_all = field.scope == NvmlTypes::kAllLinks;
  if (field.field == NvmlTypes::kFieldSpeed || field.field == NvmlTypes::kFieldSpeedCommon) {
    const std::size_t lane = field.field == NvmlTypes::kFieldSpeed ? field.scope : 0;
    require(lane < lanes.size(), kInvalidArgument);
    const double speed = lanes[lane].bundle->peak_bytes_per_s / lanes[lane].bundle->width;
    answer_number(field, kUnsignedInt, static_cast<unsigned long long>(std::llround(speed / 1e6)));
  } else if (field.field == NvmlTypes::kFieldDataTx && of_all) {
    answer_number(field, kUnsignedLongLong, world().health(gpu).sent_bytes / kKib);
  } else if (field.field == NvmlTypes::kFieldDataRx && of_all) {
    answer_number(field, kUnsignedLongLong, world().health(gpu).received_bytes / kKib);
  } else {
    const auto* end = std::end(NvmlTypes::kErrorFields);
    require(std::find(std::begin(NvmlTypes::kErrorFields), end, field.field) != end, kNotSupported);
    answer_number(field, kUnsignedLongLong, 0);  // links of the model have no errors
  }
}

int not_supported(Device device) {
  return tell([&] {
    gpu_of(device);
    throw Refusal{kNotSupported};
  });
}

int clock_of(Device device, int which, unsigned* megahertz) {
  return tell([&] {
    const Health health = world().health(gpu_of(device));
    require(which == NvmlTypes::kClockSm || which == NvmlTypes::kClockMemory, kNotSupported);
    const std::int64_t clock = which == NvmlTypes::kClockSm ? health.clock_mhz : health.memory_clock_mhz;
    require(clock > 0, kNotSupported);
    put(megahertz, static_cast<unsigned>(clock));
  });
}

int reasons_of(Device device, unsigned long long* reasons) {
  return tell([&] { put(reasons, world().health(gpu_of(device)).throttled ? kHardwareSlowdown : 0ull); });
}

int processes_of(Device device, unsigned* count) {
  return tell([&] {
    gpu_of(device);
    put(count, 0u);
  });
}

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int nvmlInit_v2() {
  return tell([] { world(); });
}
int nvmlShutdown() { return 0; }

const char* nvmlErrorString(int number) {
  switch (number) {
    case 0:
      return "Success";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNotFound:
      return "Not Found";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char* version, unsigned room) {
  return tell([&] { write("simulated", version, room); });
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  return tell([&] { put(count, static_cast<unsigned>(world().model().gpu.count)); });
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  return tell([&] {
    require(index < static_cast<unsigned>(world().model().gpu.count), kInvalidArgument);
    put(device, device_of(static_cast<int>(index)));
  });
}

int nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  return tell([&] {
    require(uuid != nullptr, kInvalidArgument);
    const Model& model = world().model();
    for (int gpu = 0; gpu < model.gpu.count; ++gpu)
      if (nvidia_uuid_text(model, gpu) == uuid) return put(device, device_of(gpu));
    throw Refusal{kNotFound};
  });
}

int nvmlDeviceGetName(Device device, char* name, unsigned room) {
  return tell([&] {
    gpu_of(device);
    write(world().model().gpu.name, name, room);
  });
}

int nvmlDeviceGetUUID(Device device, char* uuid, unsigned room) {
  return tell([&] { write(nvidia_uuid_text(world().model(), gpu_of(device)), uuid, room); });
}

int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  return tell([&] { put(info, pci_of(gpu_of(device))); });
}

int nvmlDeviceGetMemoryInfo(Device device, MemoryInfo* info) {
  return tell([&] {
    const int gpu = gpu_of(device);
    const unsigned long long total = world().model().gpu.memory_bytes;
    const unsigned long long free = world().free_bytes({Place::Kind::gpu, gpu});
    put(info, {total, free, total - free});
  });
}

int nvmlDeviceGetMaxClockInfo(Device device, int which, unsigned* megahertz) {
  return tell([&] {
    gpu_of(device);
    require(which == NvmlTypes::kClockMemory, kNotSupported);
    put(megahertz, static_cast<unsigned>(
                       std::llround(world().model().gpu.memory_bytes_per_s / (2e6 * kMemoryBusBytes))));
  });
}

int nvmlDeviceGetMemoryBusWidth(Device device, unsigned* bits) {
  return tell([&] {
    gpu_of(device);
    put(bits, 8u * kMemoryBusBytes);
  });
}

int nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  return tell([&] { put(generation, pcie_generation(pcie_of(device))); });
}
int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* width) {
  return tell([&] {
    pcie_of(device);
    put(width, kPcieLanes);
  });
}
int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  return tell([&] { put(generation, pcie_generation(pcie_of(device))); });
}
int nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* width) {
  return tell([&] {
    pcie_of(device);
    put(width, kPcieLanes);
  });
}

int nvmlDeviceGetMigMode(Device device, unsigned*, unsigned*) { return not_supported(device); }

int nvmlDeviceGetComputeMode(Device device, int* mode) {
  return tell([&] {
    gpu_of(device);
    put(mode, 0);  // default: any number of processes
  });
}

// A simulated machine belongs to one process, which is not listed as another user.
int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, void*) {
  return processes_of(device, count);
}
int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count, void*) {
  return processes_of(device, count);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count, void*) {
  return processes_of(device, count);
}
int nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, unsigned* count, void*) {
  return processes_of(device, count);
}
// A rate over real time, which does not exist in virtual time.
int nvmlDeviceGetUtilizationRates(Device device, Utilisation*) { return not_supported(device); }

int nvmlDeviceGetNvLinkState(Device device, unsigned link, int* active) {
  return tell([&] {
    lane_of(device, link);
    put(active, 1);
  });
}

int nvmlDeviceGetNvLinkVersion(Device device, unsigned link, unsigned* version) {
  return tell([&] {
    lane_of(device, link);
    put(version, nvlink_version(world().model()));
  });
}

int nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, int* kind) {
  return tell([&] {
    const std::string remote = lane_of(device, link).remote;
    put(kind, gpu_named(remote) >= 0 ? kRemoteGpu : remote.starts_with("cpu") ? kRemoteCpu : kRemoteSwitch);
  });
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* info) {
  return tell([&] {
    const int remote = gpu_named(lane_of(device, link).remote);
    require(remote >= 0, kNotSupported);  // switches have no address in a model
    put(info, pci_of(remote));
  });
}

int nvmlDeviceGetFieldValues(Device device, int count, FieldValue* fields) {
  return tell([&] {
    const int gpu = gpu_of(device);
    require(fields != nullptr && count > 0, kInvalidArgument);
    for (FieldValue* field = fields; field != fields + count; ++field)
      field->status = tell([&] { answer_field(gpu, *field); });
  });
}

int nvmlDeviceGetClockInfo(Device device, int which, unsigned* megahertz) {
  return clock_of(device, which, megahertz);
}
int nvmlDeviceGetTemperature(Device device, int, unsigned*) { return not_supported(device); }
int nvmlDeviceGetPowerUsage(Device device, unsigned*) { return not_supported(device); }
int nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* reasons) {
  return reasons_of(device, reasons);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  return reasons_of(device, reasons);
}
int nvmlDeviceGetPcieReplayCounter(Device device, unsigned* replays) {
  return tell([&] {
    gpu_of(device);
    put(replays, 0u);
  });
}
int nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long*) { return not_supported(device); }

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::nvml_api
