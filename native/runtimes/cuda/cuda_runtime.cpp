// The CUDA runtime on the driver API: differences from other vendors (gpu/runtime.hpp has the common part),
// discovery and opening.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtimes/cuda/driver.hpp"
#include "runtimes/cuda/nvrtc.hpp"
#include "runtimes/factories.hpp"
#include "runtimes/gpu/runtime.hpp"

namespace byteways::cuda {
namespace {

constexpr int kOldestDriver = 11000;     // CUDA 11.0, driver 450: older ones are untested
constexpr int kBulkCopyCapability = 90;  // cp.async.bulk, PTX ISA: sm_90 and later

// A launch blocks when about 1024 operations wait in a channel. A copy may take several entries, and events
// and the gate take some; half leaves room for all of them.
constexpr unsigned kQueueDepth = 512;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// "GPU-" or "MIG-" and the five groups of the usual UUID notation, as in nvidia-smi.
std::string uuid_text(const CudaDriver& driver, int device) {
  CudaTable::Uuid whole{}, instance{};
  driver.call(device, driver.device_uuid, &whole, driver.handle(device));
  instance = whole;
  if (driver.device_uuid_of_instance)
    driver.call(device, driver.device_uuid_of_instance, &instance, driver.handle(device));
  std::string text = std::memcmp(&whole, &instance, sizeof whole) == 0 ? "GPU-" : "MIG-";
  for (int i = 0; i < 16; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", instance.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

DeviceInfo describe(Host& host, const CudaDriver& driver, int device) {
  const auto attribute = [&](int which) { return driver.attribute(device, which); };
  const auto size = [&](int which) { return static_cast<std::uint64_t>(attribute(which)); };
  DeviceInfo info = gpu::describe(host, driver, device);
  info.uuid = uuid_text(driver, device);
  info.architecture = "sm_" + std::to_string(10 * attribute(CudaTable::kDeviceCapabilityMajor) +
                                             attribute(CudaTable::kDeviceCapabilityMinor));
  if (driver.attribute_or(device, CudaTable::kDeviceNumaConfig, 0) == CudaTable::kNumaNode)
    info.memory_domain = driver.attribute_or(device, CudaTable::kDeviceNumaId, -1);
  info.last_level_cache_bytes = size(CudaTable::kDeviceL2Bytes);
  // Two transfers per clock over the whole bus width.
  info.memory_bytes_per_s =
      2 * 1000 * size(CudaTable::kDeviceMemoryClockKhz) * (size(CudaTable::kDeviceMemoryBusBits) / 8);
  info.copy_engines = attribute(CudaTable::kDeviceCopyEngines);
  return info;
}

class CudaRuntime final : public gpu::GpuRuntime<CudaDriver> {
 public:
  CudaRuntime(Host& host, std::shared_ptr<CudaDriver> driver, std::shared_ptr<gpu::KernelCompiler> compiler,
              std::string cache_folder, std::vector<DeviceInfo> devices, std::string version)
      : GpuRuntime(host, std::move(driver), std::move(compiler), std::move(cache_folder), std::move(devices)),
        version_(std::move(version)) {}

  std::string_view name() const override { return "cuda"; }
  std::string version() const override { return version_; }

  Availability offers(Memory memory, int device) override {
    if (const std::string lacks = gpu::lacking_of(*driver_, memory); !lacks.empty()) return {false, lacks};
    switch (memory) {
      case Memory::device:
      case Memory::ipc:
      case Memory::pinned:
      case Memory::write_combined:
        return {true, {}};
      case Memory::pool:
        if (driver_->attribute_or(device, CudaTable::kDeviceHasPools, 0) != 0) return {true, {}};
        return {false, "the driver offers no memory pools on this GPU"};
      case Memory::vmm:
        if (driver_->attribute_or(device, CudaTable::kDeviceMapsMemory, 0) != 0) return {true, {}};
        return {false, "the driver does not let a program map memory of this GPU"};
      case Memory::registered:
        if (driver_->attribute(device, CudaTable::kDeviceHostPointerForRegistered) != 0) return {true, {}};
        return {false, "the GPU sees registered host memory at another address than the host"};
      case Memory::managed:
        if (driver_->attribute(device, CudaTable::kDeviceManagedMemory) == 0)
          return {false, "the GPU has no managed memory on this system"};
        if (driver_->attribute(device, CudaTable::kDeviceConcurrentManaged) == 0)
          return {false,
                  "managed memory cannot be placed here: the driver offers no concurrent managed access"};
        return {true, {}};
      case Memory::device_fine:
      case Memory::device_uncached:
        return {false, "CUDA's device memory has one kind of coherence and of caching: use device"};
      case Memory::pinned_noncoherent:
        return {false, "CUDA's pinned memory has one kind of coherence: use pinned"};
      case Memory::managed_coarse:
        return {false, "CUDA takes no advice on the coherence of managed memory: use managed"};
      default:
        return {false, std::string(memory_name(memory)) + " memory belongs to the host"};
    }
  }

  unsigned queue_depth(int) override { return kQueueDepth; }

 protected:
  std::string kernel_obstacle(int device, gpu::Needs needs) const override {
    const std::string& architecture = info(device).architecture;
    if (needs != gpu::Needs::bulk_copies || std::stoi(architecture.substr(3)) >= kBulkCopyCapability)
      return {};
    return "bulk-copy instructions exist from sm_90 on, this GPU is " + architecture;
  }

 private:
  std::string version_;
};

// Advice for the most common errors of cuInit.
std::string initialisation_hint(const std::string& code) {
  if (code == "CUDA_ERROR_NO_DEVICE")
    return "is there a GPU (nvidia-smi), and does CUDA_VISIBLE_DEVICES leave one visible?";
  if (code == "CUDA_ERROR_STUB_LIBRARY")
    return "the toolkit's stub was found instead of the driver: take its stubs folder out of LD_LIBRARY_PATH";
  if (code == "CUDA_ERROR_SYSTEM_NOT_READY")
    return "is the fabric manager running? systemctl status nvidia-fabricmanager";
  if (code == "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")
    return "library and kernel module are of different driver versions: a reboot or module reload helps";
  return "nvidia-smi tells whether the driver works";
}

// Finds, binds and initialises the driver, and describes its devices. Returns nullptr if any of that fails,
// with the reason in the report.
std::shared_ptr<CudaDriver> open_driver(Host& host, const SessionOptions& options, int first_gpu,
                                        LibraryReport& report, int& version,
                                        std::vector<DeviceInfo>& devices) {
  report.library = "cuda-driver";
  const Library library = Library::open({"libcuda.so.1", "libcuda.so"}, options.library_directories,
                                        "BYTEWAYS_LIBCUDA", options.simulator, report);
  if (!library) {
    if (report.hint.empty())
      report.hint =
          "install NVIDIA's driver; in a container, start it with the NVIDIA runtime (docker run --gpus all)";
    return nullptr;
  }
  auto driver = std::make_shared<CudaDriver>();
  driver->number_from(first_gpu);
  driver->bind(library, report);
  if (driver->driver_version && driver->driver_version(&version) == 0) {
    const std::string release = release_of(report.path);
    report.version = "CUDA " + version_text(version) + (release.empty() ? "" : ", driver " + release);
  }
  if (!gpu::complete(report) || version < kOldestDriver) {
    const std::string wanted = "CUDA " + version_text(kOldestDriver);
    if (report.reason.empty()) report.reason = "found, but too old: it is for CUDA " + version_text(version);
    report.hint = "update NVIDIA's driver: byteways needs " + wanted + " (driver 450) or later";
    return nullptr;
  }
  try {
    driver->call(-1, driver->initialize, 0u);
    driver->find_devices();
    for (int device = 0; device < driver->devices(); ++device)
      devices.push_back(describe(host, *driver, device));
  } catch (const Error& error) {
    report.reason = error.what();
    report.hint = initialisation_hint(error.code());
    return nullptr;
  }
  if (driver->devices() == 0) {
    report.reason = "the driver works, but shows no GPU";
    report.hint = initialisation_hint("CUDA_ERROR_NO_DEVICE");
    return nullptr;
  }
  report.usable = true;
  return driver;
}

}  // namespace
}  // namespace byteways::cuda

namespace byteways {

std::unique_ptr<Runtime> open_cuda(Host& host, const SessionOptions& options, int first_gpu,
                                   std::vector<LibraryReport>& reports) {
  LibraryReport report;
  int version = 0;
  std::vector<DeviceInfo> devices;
  const auto driver = cuda::open_driver(host, options, first_gpu, report, version, devices);
  reports.push_back(report);
  // Without a driver nothing could run kernels, and loading NVRTC is the most expensive part of the start.
  if (report.path.empty()) {
    LibraryReport& compiler = reports.emplace_back();
    compiler.library = "nvrtc";
    compiler.reason = "not looked for: there is no CUDA driver";
    return nullptr;
  }
  const auto compiler =
      std::make_shared<cuda::Nvrtc>(options.library_directories, version / 1000, options.simulator);
  reports.push_back(compiler->report());
  if (driver == nullptr) return nullptr;
  const std::string compiler_version = compiler->report().version;
  return std::make_unique<cuda::CudaRuntime>(
      host, driver, compiler, options.kernel_cache, std::move(devices),
      report.version + (compiler_version.empty() ? "" : ", NVRTC " + compiler_version));
}

}  // namespace byteways
