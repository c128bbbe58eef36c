// Base of all GPU runtimes, on top of the vendor's driver class: devices, memory, queues, kernels and timing.
// Capabilities are in separate files of this folder. A vendor's runtime adds only what differs: memory kinds,
// copies, and which kernels a device can run.
#pragma once
#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtimes/gpu/copies.hpp"
#include "runtimes/gpu/copy_calls.hpp"
#include "runtimes/gpu/graph.hpp"
#include "runtimes/gpu/host_pages.hpp"
#include "runtimes/gpu/kernel_store.hpp"
#include "runtimes/gpu/memory.hpp"
#include "runtimes/gpu/peers.hpp"
#include "runtimes/gpu/queue.hpp"
#include "runtimes/host.hpp"

namespace byteways::gpu {

// What both vendors say of a device by equal calls.
template <class Vendor>
DeviceInfo describe(Host& host, const Vendor& driver, int device) {
  const auto handle = driver.handle(device);
  DeviceInfo info;
  char name[256] = {}, address[32] = {};
  std::size_t bytes = 0;
  driver.call(device, driver.device_name, name, static_cast<int>(sizeof name), handle);
  driver.call(device, driver.device_pci_address, address, static_cast<int>(sizeof address), handle);
  driver.call(device, driver.device_memory, &bytes, handle);
  for (char& letter : address) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  info.model = name;
  info.pci_address = address;
  info.numa_domain = host.numa_domain_of(info.pci_address);
  info.multiprocessors = driver.attribute(device, Vendor::kDeviceMultiprocessors);
  info.memory_bytes = bytes;
  info.pageable_access = driver.attribute(device, Vendor::kDevicePageableAccess) != 0;
  return info;
}

template <class Vendor>
class GpuRuntime : public Runtime {
 public:
  std::string_view timed_by() const override { return "device-events"; }
  int device_count() const override { return static_cast<int>(devices_.size()); }
  DeviceInfo device(int device) override { return info(device); }
  bool bind_thread_near(int device) override { return host_->bind_thread_near_pci(info(device).pci_address); }

  std::unique_ptr<Allocation> allocate(Memory memory, int device, std::uint64_t bytes,
                                       int numa_domain) override {
    const Availability& known = offered(memory, device);
    if (!known.available)
      throw Unsupported("allocate", std::string(memory_name(memory)), known.reason, driver_->name_of(device));
    if (memory == Memory::ipc)
      throw Unsupported("allocate", "ipc", "another process allocates it: open it by its handle",
                        driver_->name_of(device));
    if (memory == Memory::pool) return std::make_unique<PoolMemory<Vendor>>(driver_, device, bytes);
    if (memory == Memory::vmm) return std::make_unique<MappedMemory<Vendor>>(driver_, device, bytes);
    if (is_device(memory)) return std::make_unique<DeviceMemory<Vendor>>(driver_, device, memory, bytes);
    if (is_managed(memory)) return std::make_unique<ManagedMemory<Vendor>>(driver_, device, memory, bytes);
    if (memory == Memory::registered)
      return page_locking_.lock(host_->populated_pages(bytes, numa_domain), device);
    return std::make_unique<PinnedMemory<Vendor>>(driver_, device, memory, bytes, *host_, numa_domain);
  }
  std::uint64_t free_bytes(int device) override {
    if (!driver_->memory_info) return 0;
    driver_->make_current(device);
    std::size_t available = 0, all = 0;
    driver_->call(device, driver_->memory_info, &available, &all);
    return available;
  }

  std::unique_ptr<Stream> create_stream(int device) override {
    return std::make_unique<VendorStream<Vendor>>(driver_, device);
  }
  std::unique_ptr<Event> create_event(int device) override {
    return std::make_unique<VendorEvent<Vendor>>(driver_, device);
  }
  void record(Event& event, Stream& stream) override {
    const auto& queue = of<Vendor>(stream);
    queue.enter();
    driver_->call(queue.device(), driver_->record_event, of<Vendor>(event).handle(), queue.handle());
  }
  void wait(Stream& stream, Event& event) override {
    const auto& queue = of<Vendor>(stream);
    queue.enter();
    driver_->call(queue.device(), driver_->wait_event, queue.handle(), of<Vendor>(event).handle(), 0u);
  }

  PreparedKernel prepare(int device, std::string_view kernel) override {
    const std::size_t index = catalogue_index(kernel);
    const std::string obstacle = kernel_obstacle(device, kernel_catalogue()[index].needs);
    if (!obstacle.empty()) throw Unsupported("kernel", "unavailable", obstacle, driver_->name_of(device));
    const auto& loaded = kernels_.get(device, index, info(device).architecture);
    const CatalogueEntry& entry = kernel_catalogue()[index];
    return {entry.kernel, entry.argument_bytes, loaded.handle, loaded.info};
  }

  void launch_series(const PreparedKernel& kernel, const LaunchShape& shape, const void* arguments,
                     std::size_t argument_bytes, const LaunchSeries& series, Stream& stream) override {
    const auto& queue = of<Vendor>(stream);
    const int device = queue.device();
    if (argument_bytes != kernel.argument_bytes)
      throw Error(
          "launch", "argument block",
          std::string(kernel.name) + " was given " + std::to_string(argument_bytes) + " bytes of arguments",
          driver_->name_of(device));
    const auto handle = static_cast<typename Vendor::Kernel>(const_cast<void*>(kernel.handle));
    void* parameters[] = {const_cast<void*>(arguments)};
    queue.enter();
    for (std::uint64_t k = 0; k < series.count; ++k) {
      series.set(k);
      driver_->call(device, driver_->launch_kernel, handle, shape.blocks, 1u, 1u, shape.threads, 1u, 1u,
                    shape.shared_bytes, queue.handle(), parameters, nullptr);
    }
  }

  void copy_series(const CopySeries& copies, Stream& stream) override {
    const auto& queue = of<Vendor>(stream);
    const Vendor& vendor = *driver_;
    queue.enter();
    for (std::uint64_t k = copies.first; k < copies.first + copies.count; ++k) {
      const std::uint64_t offset = k % copies.slots * copies.stride_bytes;
      vendor.copy(queue.device(), static_cast<std::byte*>(copies.destination) + offset,
                  static_cast<const std::byte*>(copies.source) + offset, copies.bytes, queue.handle());
    }
  }

  void set_series(const CopySeries& slots, unsigned char value, Stream& stream) override {
    const auto& queue = of<Vendor>(stream);
    queue.enter();
    for (std::uint64_t k = slots.first; k < slots.first + slots.count; ++k)
      driver_->call(queue.device(), driver_->set_bytes,
                    static_cast<void*>(static_cast<std::byte*>(slots.destination) +
                                       k % slots.slots * slots.stride_bytes),
                    value, slots.bytes, queue.handle());
  }

  bool finished(Event& event) override {
    const auto& marker = of<Vendor>(event);
    marker.enter();
    const int code = driver_->query_event(marker.handle());
    if (code == Vendor::kNotReady) return false;
    if (code != 0) driver_->fail(driver_->query_event.symbol(), code, marker.device());
    return true;
  }
  void synchronize(Event& event) override {
    const auto& marker = of<Vendor>(event);
    marker.enter();
    driver_->call(marker.device(), driver_->synchronize_event, marker.handle());
  }
  void synchronize(Stream& stream) override {
    const auto& queue = of<Vendor>(stream);
    queue.enter();
    driver_->call(queue.device(), driver_->synchronize_stream, queue.handle());
  }
  double elapsed_ns(Event& begin, Event& end) override {
    const auto& marker = of<Vendor>(end);
    marker.enter();
    float milliseconds = 0;
    driver_->call(marker.device(), driver_->elapsed_time, &milliseconds, of<Vendor>(begin).handle(),
                  marker.handle());
    return 1e6 * static_cast<double>(milliseconds);
  }

  double timer_resolution_ns(int device) override {
    const std::lock_guard lock(resolution_mutex_);
    double& resolution = resolutions_.at(static_cast<std::size_t>(device));
    if (resolution < 0) resolution = measure_step_ns(device);
    return resolution;
  }

 protected:
  GpuRuntime(Host& host, std::shared_ptr<Vendor> driver, std::shared_ptr<KernelCompiler> compiler,
             std::string cache_folder, std::vector<DeviceInfo> devices)
      : driver_(driver),
        host_(&host),
        devices_(std::move(devices)),
        resolutions_(devices_.size(), -1),
        kernels_(driver, std::move(compiler), std::move(cache_folder), static_cast<int>(devices_.size())),
        graphs_(driver),
        copy_batches_(driver),
        copy_calls_(driver),
        copies_2d_(driver),
        managed_pages_(driver, devices_),
        page_locking_(driver),
        pools_(driver),
        handles_(driver),
        peers_(driver) {
    offer<Graphs>(graphs_, graphs_.obstacle());
    offer<CopyBatches>(copy_batches_, driver_->batch_obstacle());
    offer<CopyCalls>(copy_calls_);
    offer<Copies2D>(copies_2d_, driver_->rows_obstacle());
    offer<ManagedPages>(managed_pages_);
    offer<PageLocking>(page_locking_);
    offer<MemoryPools>(pools_);
    offer<ProcessHandles>(handles_, handles_.obstacle());
    offer<PeerAccess>(peers_);
  }

  const DeviceInfo& info(int device) const { return devices_.at(static_cast<std::size_t>(device)); }

  // Returns why the device cannot run such a kernel; empty if it can.
  virtual std::string kernel_obstacle(int device, Needs needs) const = 0;

  std::shared_ptr<Vendor> driver_;
  Host* host_;

 private:
  static constexpr int kResolutionPairs = 64;
  static constexpr double kMostStepNs = 1e5;

  // Returns the smallest difference in ns between elapsed times of consecutive events.
  double measure_step_ns(int device) {
    const auto stream = create_stream(device);
    std::vector<std::unique_ptr<Event>> events;
    for (int i = 0; i <= kResolutionPairs; ++i) {
      events.push_back(create_event(device));
      record(*events.back(), *stream);
    }
    synchronize(*stream);
    std::vector<double> elapsed;
    for (int i = 0; i < kResolutionPairs; ++i) elapsed.push_back(elapsed_ns(*events[i], *events[i + 1]));
    std::sort(elapsed.begin(), elapsed.end());
    double step = 0;
    for (int i = 0; i + 1 < kResolutionPairs; ++i) {
      const double difference = elapsed[i + 1] - elapsed[i];
      // 0.5 ns: rounding of the float; a pair that lies far from the others was disturbed.
      if (difference > 0.5 && difference < kMostStepNs && (step == 0 || difference < step)) step = difference;
    }
    return step;
  }

  std::vector<DeviceInfo> devices_;
  std::mutex resolution_mutex_;
  std::vector<double> resolutions_;  // [device], negative until measured
  KernelStore<Vendor> kernels_;
  VendorGraphs<Vendor> graphs_;
  VendorCopyBatches<Vendor> copy_batches_;
  VendorCopyCalls<Vendor> copy_calls_;
  VendorCopies2D<Vendor> copies_2d_;
  VendorManagedPages<Vendor> managed_pages_;
  VendorPageLocking<Vendor> page_locking_;
  VendorPools<Vendor> pools_;
  VendorHandles<Vendor> handles_;
  VendorPeers<Vendor> peers_;
};

}  // namespace byteways::gpu
