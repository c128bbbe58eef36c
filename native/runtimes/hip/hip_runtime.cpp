// The HIP runtime: differences from other vendors (gpu/runtime.hpp has the common part), discovery and
// opening.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/factories.hpp"
#include "runtimes/gpu/runtime.hpp"
#include "runtimes/hip/copy_rules.hpp"
#include "runtimes/hip/driver.hpp"
#include "runtimes/hip/hiprtc.hpp"
#include "runtimes/hip/hsa.hpp"
#include "runtimes/hip/kfd.hpp"

namespace byteways::hip {
namespace {

constexpr int kOldestVersion = 50'000'000;  // HIP 5.0; older ones are untested

// The tightest limit of a queue is the memory for kernel arguments: HSA_KERNARG_POOL_SIZE, 512 KiB by default
// in the oldest sources read and more since, in 16 parts of which one is always being freed. That is enough
// for 960 launches of 512 bytes including hidden arguments; the next launch waits for earlier ones. (The
// queue itself has 16384 packets, ROC_AQL_QUEUE_SIZE.) Half leaves room for events and the gate.
constexpr unsigned kQueueDepth = 512;

// "GPU-" and 16 hexadecimal digits, as in rocminfo; empty if the driver does not know it.
std::string uuid_text(const HipDriver& driver, int device) {
  HipTable::Uuid uuid{};
  if (!driver.device_uuid || driver.device_uuid(&uuid, device) != 0) return {};
  const std::string digits(uuid.bytes, sizeof uuid.bytes);
  const auto is_digit = [](char letter) { return std::isxdigit(static_cast<unsigned char>(letter)) != 0; };
  return std::all_of(digits.begin(), digits.end(), is_digit) ? "GPU-" + digits : std::string();
}

DeviceInfo describe(Host& host, const HipDriver& driver, int device) {
  const auto attribute = [&](int which) { return driver.attribute(device, which); };
  const auto size = [&](int which) { return static_cast<std::uint64_t>(attribute(which)); };
  DeviceInfo info = gpu::describe(host, driver, device);
  info.uuid = uuid_text(driver, device);
  info.architecture = driver.architecture(device);
  info.last_level_cache_bytes =
      std::max(size(HipTable::kDeviceL2Bytes), memory_side_cache_bytes(info.architecture));
  info.memory_bytes_per_s = static_cast<std::uint64_t>(transfers_per_memory_clock(info.architecture)) * 1000 *
                            size(HipTable::kDeviceMemoryClockKhz) *
                            (size(HipTable::kDeviceMemoryBusBits) / 8);
  info.copy_engines = driver.attribute_or(device, HipTable::kDeviceCopyEngines, 0);  // unknown to HIP 5
  // ROCm before 6.2 calls MI300A a discrete GPU, which its kernel driver does not.
  info.host_access =
      attribute(HipTable::kDeviceIntegrated) != 0 || shares_memory_with_cpu(host.sysfs(), info.pci_address);
  return info;
}

// HIP's rules for copy engines, and the selection of engines through HSA.
class HipEngineChoice final : public EngineChoice {
 public:
  HipEngineChoice(std::unique_ptr<Hsa> hsa, int version, const std::vector<DeviceInfo>& devices)
      : hsa_(std::move(hsa)), rules_(version, [](const char* name) { return std::getenv(name); }) {
    for (const DeviceInfo& device : devices) places_.push_back(device.pci_address);
  }

  CopyRule rule(const CopyEnds& ends, std::uint64_t bytes) override { return rules_.rule(ends, bytes); }

  CopyEngines engines(const CopyEnds& ends) override {
    if (ends.source_device == ends.destination_device)
      return {0, {}, "an engine can be chosen for copies from one GPU to another or to and from the host"};
    if (ends.plain) return {0, {}, "copy engines cannot reach host memory that the runtime does not know"};
    try {
      const std::uint32_t mask = hsa_->engines(place(ends.source_device), place(ends.destination_device));
      return {mask, rules_.chosen(ends), mask == 0 ? "HSA offers no copy engine for such a copy" : ""};
    } catch (const Error& error) {
      return {0, {}, error.text().empty() ? error.what() : error.text()};
    }
  }

  void copy(void* destination, const void* source, std::uint64_t bytes, const CopyEnds& ends,
            int engine) override {
    hsa_->copy(destination, place(ends.destination_device), source, place(ends.source_device), bytes, engine);
  }

 private:
  HsaPlace place(int device) const {
    return device < 0 ? HsaPlace() : places_.at(static_cast<std::size_t>(device));
  }

  std::unique_ptr<Hsa> hsa_;
  CopyRules rules_;
  std::vector<HsaPlace> places_;  // [device]
};

class HipRuntime final : public gpu::GpuRuntime<HipDriver> {
 public:
  // Between kernels of a stream there is no release of system scope: stores to coarse-grained memory of a
  // peer may stay in this device's L2 until one (LLVM, User Guide for AMDGPU Backend, memory model gfx90a).
  bool stores_arrive_by_kernel_end() const override { return false; }

  HipRuntime(Host& host, std::shared_ptr<HipDriver> driver, std::shared_ptr<gpu::KernelCompiler> compiler,
             std::unique_ptr<Hsa> hsa, std::string cache_folder, const std::vector<DeviceInfo>& devices,
             int version, std::string version_text)
      : GpuRuntime(host, std::move(driver), std::move(compiler), std::move(cache_folder), devices),
        engine_choice_(std::move(hsa), version, devices),
        version_(std::move(version_text)) {
    offer<EngineChoice>(engine_choice_);
  }

  std::string_view name() const override { return "hip"; }
  std::string version() const override { return version_; }

  Availability offers(Memory memory, int device) override {
    if (const std::string lacks = gpu::lacking_of(*driver_, memory); !lacks.empty()) return {false, lacks};
    switch (memory) {
      case Memory::device:
      case Memory::ipc:
      case Memory::pinned:
      case Memory::pinned_noncoherent:
      case Memory::write_combined:
        return {true, {}};
      case Memory::pool:
      case Memory::vmm:
      case Memory::device_fine:
      case Memory::device_uncached:
      case Memory::registered:
        return tried(memory, device);
      case Memory::managed:
      case Memory::managed_coarse:
        return offers_managed(memory, device);
      default:
        return {false, std::string(memory_name(memory)) + " memory belongs to the host"};
    }
  }

  unsigned queue_depth(int) override { return kQueueDepth; }

 protected:
  std::string kernel_obstacle(int device, gpu::Needs needs) const override {
    if (needs != gpu::Needs::bulk_copies) return {};
    return "this GPU (" + info(device).architecture + ") has no bulk-copy instructions";
  }

 private:
  // Support that depends on hardware, driver and version is tested with one page, once per device.
  const Availability& tried(Memory memory, int device) {
    const auto known = tried_.find({memory, device});
    if (known != tried_.end()) return known->second;
    return tried_[{memory, device}] = attempt(memory, device);
  }

  Availability attempt(Memory memory, int device) {
    constexpr std::size_t kPageBytes = 4096;
    try {
      driver_->make_current(device);
      if (memory == Memory::registered) {
        const gpu::RegisteredMemory<HipDriver> page(driver_, device, host_->populated_pages(kPageBytes, -1));
        void* seen = nullptr;
        driver_->call(device, driver_->device_pointer, &seen, static_cast<void*>(page.data()), 0u);
        if (seen == page.data()) return {true, {}};
        return {false, "the GPU sees registered host memory at another address than the host"};
      }
      if (memory == Memory::pool)
        const gpu::PoolMemory<HipDriver> page(driver_, device, kPageBytes);
      else if (memory == Memory::vmm)
        const gpu::MappedMemory<HipDriver> page(driver_, device, kPageBytes);
      else
        driver_->free_device(driver_->new_device_memory(device, memory, kPageBytes));
      return {true, {}};
    } catch (const Error& error) {
      return {false, std::string("the runtime does not give it: ") + error.what()};
    }
  }

  Availability offers_managed(Memory memory, int device) const {
    if (driver_->attribute(device, HipTable::kDeviceManagedMemory) == 0)
      return {false, "the GPU has no managed memory on this system"};
    if (driver_->attribute(device, HipTable::kDeviceConcurrentManaged) == 0 || !driver_->prefetch)
      return {false, "managed memory cannot be placed here: the runtime offers no concurrent managed access"};
    if (memory == Memory::managed_coarse && !driver_->advise)
      return {false, "this runtime takes no advice on managed memory (hipMemAdvise)"};
    return {true, {}};
  }

  HipEngineChoice engine_choice_;
  std::string version_;
  std::map<std::pair<Memory, int>, Availability> tried_;
};

// Without a GPU hipInit returns 100, or 101 in HIP 5.
bool means_no_device(const std::string& code) {
  return code == "hipErrorNoDevice" || code == "hipErrorInvalidDevice";
}

// Advice for the most common errors of hipInit.
std::string initialisation_hint(const std::string& code) {
  if (means_no_device(code))
    return "is there a GPU (rocminfo), may this user open /dev/kfd (group render), and do "
           "ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES leave one visible?";
  return "rocminfo tells whether the driver works";
}

// Finds, binds and initialises the runtime, and describes its devices. Returns nullptr if any of that fails,
// with the reason in the report.
std::shared_ptr<HipDriver> open_driver(Host& host, const SessionOptions& options, int first_gpu,
                                       LibraryReport& report, HipLibrary& found,
                                       std::vector<DeviceInfo>& devices) {
  report.library = "hip";
  found.library = open_library(options.library_directories, options.simulator, report);
  found.path = report.path;
  if (!found.library) {
    if (report.hint.empty())
      report.hint = "install ROCm's HIP runtime, or set BYTEWAYS_LIBHIP to its file (libamdhip64.so)";
    return nullptr;
  }
  auto driver = std::make_shared<HipDriver>();
  driver->number_from(first_gpu);
  driver->bind(found.library, report);
  if (driver->runtime_version && driver->runtime_version(&found.version) == 0) {
    const std::string release = release_of(found.path);
    report.version = "HIP " + version_text(found.version) + (release.empty() ? "" : ", release " + release);
  } else {
    found.version = 0;  // HIP 6 returns "no device" without a GPU, as hipInit does below
  }
  const bool too_old = found.version > 0 && found.version < kOldestVersion;
  if (!gpu::complete(report) || too_old) {
    if (report.reason.empty()) report.reason = "found, but too old: it is HIP " + version_text(found.version);
    report.hint = "update ROCm: byteways needs HIP " + version_text(kOldestVersion) + " or later";
    return nullptr;
  }
  int count = 0;
  try {
    driver->call(-1, driver->initialize, 0u);
    count = driver->devices();
    for (int device = 0; device < count; ++device) devices.push_back(describe(host, *driver, device));
  } catch (const Error& error) {
    report.reason = (count == 0 && means_no_device(error.code()) ? "the runtime finds no GPU: " : "") +
                    std::string(error.what());
    report.hint = initialisation_hint(error.code());
    return nullptr;
  }
  if (count == 0) {
    report.reason = "the runtime works, but shows no GPU";
    report.hint = initialisation_hint("hipErrorNoDevice");
    return nullptr;
  }
  report.usable = true;
  return driver;
}

}  // namespace
}  // namespace byteways::hip

namespace byteways {

std::unique_ptr<Runtime> open_hip(Host& host, const SessionOptions& options, int first_gpu,
                                  std::vector<LibraryReport>& reports) {
  LibraryReport report;
  hip::HipLibrary found;
  std::vector<DeviceInfo> devices;
  const auto driver = hip::open_driver(host, options, first_gpu, report, found, devices);
  reports.push_back(report);
  // Without a GPU nothing could run what hipRTC compiles.
  if (report.path.empty()) {
    LibraryReport& compiler = reports.emplace_back();
    compiler.library = "hiprtc";
    compiler.reason = "not looked for: there is no HIP runtime";
    return nullptr;
  }
  const auto compiler = std::make_shared<hip::Hiprtc>(found, options.library_directories,
                                                      hip::Hiprtc::Place::worker, options.simulator);
  reports.push_back(compiler->report());
  if (driver == nullptr) return nullptr;
  auto hsa = std::make_unique<hip::Hsa>(options.library_directories, options.simulator);
  reports.push_back(hsa->report());
  const std::string compiler_version = compiler->report().version;
  return std::make_unique<hip::HipRuntime>(
      host, driver, compiler, std::move(hsa), options.kernel_cache, devices, found.version,
      report.version + (compiler_version.empty() ? "" : ", hipRTC " + compiler_version));
}

}  // namespace byteways
