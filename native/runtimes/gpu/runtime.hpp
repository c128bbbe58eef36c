// What the runtimes of all GPU vendors have in common, over the vendor's driver class: memory, queues,
// kernels, peers, prefetches, batches and timing. A vendor's runtime adds what really differs: device
// properties, copies of bytes and of rows, advice on pages.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtimes/gpu/graph.hpp"
#include "runtimes/gpu/kernel_store.hpp"
#include "runtimes/gpu/memory.hpp"
#include "runtimes/gpu/queue.hpp"
#include "runtimes/runtime.hpp"

namespace byteways::gpu {

template <class Vendor>
class GpuRuntime : public Runtime {
 public:
  std::string_view timed_by() const override { return "device-events"; }
  int device_count() const override { return static_cast<int>(devices_.size()); }
  DeviceInfo device(int device) override { return info(device); }

  std::unique_ptr<Allocation> allocate(Memory memory, int device, std::uint64_t bytes,
                                       int numa_domain) override {
    const Availability offered = offers(memory, device);
    if (!offered.available)
      throw Unsupported("allocate", std::string(memory_name(memory)), offered.reason, agent_name(device));
    if (memory == Memory::pool) return std::make_unique<PoolMemory<Vendor>>(driver_, device, bytes);
    if (memory == Memory::vmm) return std::make_unique<MappedMemory<Vendor>>(driver_, device, bytes);
    if (is_device(memory)) return std::make_unique<DeviceMemory<Vendor>>(driver_, device, memory, bytes);
    if (is_managed(memory)) return std::make_unique<ManagedMemory<Vendor>>(driver_, device, memory, bytes);
    if (memory == Memory::registered) return lock(host_->populated_pages(bytes, numa_domain), device);
    return std::make_unique<PinnedMemory<Vendor>>(driver_, device, memory, bytes, *host_, numa_domain);
  }

  std::unique_ptr<Allocation> lock(std::unique_ptr<Allocation> pages, int device) override {
    return std::make_unique<RegisteredMemory<Vendor>>(driver_, device, std::move(pages));
  }
  std::unique_ptr<Allocation> unlock(std::unique_ptr<Allocation> locked) override {
    return static_cast<RegisteredMemory<Vendor>&>(*locked).take_pages();
  }
  void keep_in_pool(int device, std::uint64_t bytes) override {
    driver_->make_current(device);
    typename Vendor::Pool pool{};
    driver_->call(device, driver_->default_pool, &pool, driver_->handle(device));
    driver_->call(device, driver_->trim_pool, pool, std::size_t{bytes});
    // Last: who asked for it and is refused has nothing to take back.
    driver_->call(device, driver_->set_pool_attribute, pool, kPoolReleaseThreshold,
                  static_cast<void*>(&bytes));
  }
  std::string handle_obstacle() const override {
    return lacking(driver_->get_handle, driver_->open_handle, driver_->close_handle);
  }
  std::string handle_of(Allocation& allocation) override {
    // A pool has handles where it was made for that, which the device's own was not; a mapping has a file
    // descriptor, which is no text.
    if (needs_grant(allocation.memory()))
      throw Unsupported("handle", std::string(memory_name(allocation.memory())),
                        "its handles are of other kinds, which are not told but sent");
    const auto& memory = static_cast<VendorMemory<Vendor>&>(allocation);
    driver_->make_current(memory.device());
    MemoryHandle handle{};
    driver_->call(memory.device(), driver_->get_handle, &handle, static_cast<void*>(allocation.data()));
    return to_digits(handle);
  }
  std::unique_ptr<Allocation> open_handle(const std::string& digits, int device,
                                          std::uint64_t bytes) override {
    return std::make_unique<OpenedMemory<Vendor>>(driver_, device, bytes, handle_from(digits));
  }
  void revoke(Allocation& allocation, int device) override {
    auto& memory = static_cast<GrantedMemory<Vendor>&>(allocation);
    driver_->make_current(memory.device());
    const int code = memory.open_to(device, kAccessNone);
    if (code != 0) driver_->fail("revoke access", code, memory.device());
  }
  Availability grant(Allocation& allocation, int device) override {
    auto& memory = static_cast<GrantedMemory<Vendor>&>(allocation);
    driver_->make_current(memory.device());
    const int code = memory.open_to(device, kAccessReadWrite);
    if (code == 0) return {true, {}};
    return {false, agent_name(device) + " is refused access to " + std::string(memory_name(memory.memory())) +
                       " memory of " + agent_name(memory.device()) + ": " + driver_->words(code)};
  }

  Availability enable_peer(int device, int peer) override {
    if (device == peer) return {true, {}};
    int possible = 0;
    driver_->call(device, driver_->can_access_peer, &possible, driver_->handle(device),
                  driver_->handle(peer));
    const std::string pair = agent_name(device) + " and " + agent_name(peer);
    if (possible == 0)
      return {false, pair + " have no peer access: the driver reports no path between them (" +
                         driver_->can_access_peer.symbol() + ")"};
    const auto other = driver_->peer(peer);
    driver_->make_current(device);
    const int code = driver_->enable_peer_access(other, 0);
    if (code == 0 || code == Vendor::kPeerAccessAlreadyEnabled) return {true, {}};
    return {false, "the driver refuses peer access between " + pair + ": " + driver_->words(code)};
  }
  void disable_peer(int device, int peer) override {
    const auto other = driver_->peer(peer);
    driver_->make_current(device);
    driver_->call(device, driver_->disable_peer_access, other);
  }

  void make_resident(void* data, std::uint64_t bytes, PagePlace to) override {
    const int issuer = to.device >= 0 ? to.device : device_near(to.numa_domain);
    const typename Vendor::Stream stream = nullptr;
    driver_->make_current(issuer);
    driver_->send_pages(issuer, data, bytes, to, stream);
    driver_->call(issuer, driver_->synchronize_stream, stream);
  }
  void prefetch(void* data, std::uint64_t bytes, PagePlace to, Stream& stream) override {
    const auto& queue = of(stream);
    driver_->make_current(queue.device());
    driver_->send_pages(queue.device(), data, bytes, to, queue.handle());
  }
  Availability offers_prefetch_to_domain() const override { return driver_->offers_prefetch_to_domain(); }
  std::optional<int> last_prefetch(const void* data, std::uint64_t bytes) override {
    if (!driver_->range_attribute) return std::nullopt;
    driver_->make_current(0);
    typename Vendor::Device where = 0;
    if (driver_->range_attribute(static_cast<void*>(&where), sizeof where, Vendor::kLastPrefetchLocation,
                                 data, std::size_t{bytes}) != 0)
      return std::nullopt;  // a driver that does not know the question has not told
    return driver_->device_of(where);
  }

  std::uint64_t free_bytes(int device) override {
    if (!driver_->memory_info) return 0;
    driver_->make_current(device);
    std::size_t available = 0, all = 0;
    driver_->call(device, driver_->memory_info, &available, &all);
    return available;
  }

  void copy_batch(const std::vector<CopyPiece>& pieces, Stream& stream) override {
    std::vector<void*> to;
    std::vector<const void*> from;
    std::vector<std::size_t> sizes;
    for (const CopyPiece& piece : pieces) {
      to.push_back(piece.destination);
      from.push_back(piece.source);
      sizes.push_back(piece.bytes);
    }
    const auto& queue = of(stream);
    driver_->make_current(queue.device());
    driver_->copy_all(queue.device(), to, from, sizes, queue.handle());
  }

  std::unique_ptr<Stream> create_stream(int device) override {
    return std::make_unique<VendorStream<Vendor>>(driver_, device);
  }
  std::unique_ptr<Event> create_event(int device) override {
    return std::make_unique<VendorEvent<Vendor>>(driver_, device);
  }
  void record(Event& event, Stream& stream) override {
    const auto& queue = of(stream);
    driver_->make_current(queue.device());
    driver_->call(queue.device(), driver_->record_event, of(event).handle(), queue.handle());
  }
  void wait(Stream& stream, Event& event) override {
    const auto& queue = of(stream);
    driver_->make_current(queue.device());
    driver_->call(queue.device(), driver_->wait_event, queue.handle(), of(event).handle(), 0u);
  }

  Availability offers_kernel(int device, std::string_view kernel) override {
    try {
      loaded(device, kernel);
      return {true, {}};
    } catch (const Unsupported& error) {
      return {false, error.text()};
    }
  }
  KernelInfo kernel_info(int device, std::string_view kernel) override { return loaded(device, kernel).info; }

  PreparedKernel prepare(int device, std::string_view kernel) override {
    const CatalogueEntry& entry = kernel_catalogue()[catalogue_index(kernel)];
    return {entry.kernel, entry.argument_bytes, &loaded(device, kernel)};
  }

  void launch(int device, std::string_view kernel, const LaunchShape& shape, const void* arguments,
              std::size_t argument_bytes, Stream& stream) override {
    launch(device, prepare(device, kernel), shape, arguments, argument_bytes, stream);
  }

  void launch(int device, const PreparedKernel& kernel, const LaunchShape& shape, const void* arguments,
              std::size_t argument_bytes, Stream& stream) override {
    if (argument_bytes != kernel.argument_bytes)
      throw Error(
          "launch", "argument block",
          std::string(kernel.name) + " was given " + std::to_string(argument_bytes) + " bytes of arguments",
          agent_name(device));
    const auto handle = static_cast<const typename KernelStore<Vendor>::Loaded*>(kernel.loaded)->handle;
    driver_->make_current(device);
    void* parameters[] = {const_cast<void*>(arguments)};
    driver_->call(device, driver_->launch_kernel, handle, shape.blocks, 1u, 1u, shape.threads, 1u, 1u,
                  shape.shared_bytes, of(stream).handle(), parameters, nullptr);
  }

  Availability offers_submission(std::string_view how) override {
    if (how == "batch") return offers_batch();
    if (how != "graph") return Runtime::offers_submission(how);
    if (driver_->begin_capture && driver_->end_capture && driver_->instantiate_graph &&
        driver_->launch_graph && driver_->destroy_graph && driver_->destroy_launchable)
      return {true, {}};
    return {false, std::string("this runtime cannot record a queue (") + driver_->begin_capture.symbol() +
                       " and what belongs to it)"};
  }

  std::unique_ptr<Recording> record_work(int device, const std::function<void(Stream&)>& work) override {
    const auto stream = create_stream(device);
    const auto queue = of(*stream).handle();
    driver_->make_current(device);
    driver_->call(device, driver_->begin_capture, queue, Vendor::kCaptureThreadLocal);
    typename Vendor::Graph graph = nullptr;
    try {
      work(*stream);
    } catch (...) {
      driver_->make_current(device);
      if (driver_->end_capture(queue, &graph) == 0 && graph != nullptr) driver_->destroy_graph(graph);
      throw;
    }
    driver_->make_current(device);
    driver_->call(device, driver_->end_capture, queue, &graph);
    auto recording = std::make_unique<VendorGraph<Vendor>>(driver_, device, graph);
    // Else the first launch would do it, and be slower than the others.
    if (driver_->upload_graph) driver_->call(device, driver_->upload_graph, recording->handle(), queue);
    driver_->call(device, driver_->synchronize_stream, queue);
    return recording;
  }

  void launch(Recording& recording, Stream& stream) override {
    const auto& queue = of(stream);
    driver_->make_current(queue.device());
    driver_->call(queue.device(), driver_->launch_graph,
                  static_cast<VendorGraph<Vendor>&>(recording).handle(), queue.handle());
  }

  bool finished(Event& event) override {
    const auto& marker = of(event);
    driver_->make_current(marker.device());
    const int code = driver_->query_event(marker.handle());
    if (code == Vendor::kNotReady) return false;
    if (code != 0) driver_->fail(driver_->query_event.symbol(), code, marker.device());
    return true;
  }
  void synchronize(Event& event) override {
    const auto& marker = of(event);
    driver_->make_current(marker.device());
    driver_->call(marker.device(), driver_->synchronize_event, marker.handle());
  }
  void synchronize(Stream& stream) override {
    const auto& queue = of(stream);
    driver_->make_current(queue.device());
    driver_->call(queue.device(), driver_->synchronize_stream, queue.handle());
  }
  double elapsed_ns(Event& begin, Event& end) override {
    const auto& marker = of(end);
    driver_->make_current(marker.device());
    float milliseconds = 0;
    driver_->call(marker.device(), driver_->elapsed_time, &milliseconds, of(begin).handle(), marker.handle());
    return 1e6 * static_cast<double>(milliseconds);
  }

  double timer_resolution_ns(int device) override {
    const std::lock_guard lock(resolution_mutex_);
    double& resolution = resolutions_.at(static_cast<std::size_t>(device));
    if (resolution < 0) resolution = measure_step_ns(device);
    return resolution;
  }

  bool bind_thread_near(int device) override { return host_->bind_thread_near_pci(info(device).pci_address); }

 protected:
  GpuRuntime(Host& host, std::shared_ptr<Vendor> driver, std::shared_ptr<KernelCompiler> compiler,
             std::string cache_folder, std::vector<DeviceInfo> devices)
      : driver_(driver),
        host_(&host),
        devices_(std::move(devices)),
        resolutions_(devices_.size(), -1),
        kernels_(driver, std::move(compiler), std::move(cache_folder), static_cast<int>(devices_.size())) {}

  const DeviceInfo& info(int device) const { return devices_.at(static_cast<std::size_t>(device)); }
  static VendorStream<Vendor>& of(Stream& stream) { return static_cast<VendorStream<Vendor>&>(stream); }
  static VendorEvent<Vendor>& of(Event& event) { return static_cast<VendorEvent<Vendor>&>(event); }

  // Whether several copies can be made by one call.
  virtual Availability offers_batch() const = 0;
  // The first GPU beside a domain of the host; the first of all where none is.
  int device_near(int numa_domain) const {
    for (int device = 0; device < device_count(); ++device)
      if (numa_domain >= 0 && info(device).numa_domain == numa_domain) return device;
    return 0;
  }
  // Why the device cannot have the kernel whatever the compiler does; empty when nothing is in the way.
  virtual std::string kernel_obstacle(int device, std::string_view kernel) const = 0;

  std::shared_ptr<Vendor> driver_;
  Host* host_;

 private:
  static constexpr int kResolutionPairs = 64;
  static constexpr double kMostStepNs = 1e5;

  const typename KernelStore<Vendor>::Loaded& loaded(int device, std::string_view kernel) {
    const std::size_t index = catalogue_index(kernel);
    const std::string obstacle = kernel_obstacle(device, kernel);
    if (!obstacle.empty()) throw Unsupported("kernel", "unavailable", obstacle, agent_name(device));
    return kernels_.get(device, index, info(device).architecture);
  }

  // The smallest difference between elapsed times of events that follow each other at once.
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
};

}  // namespace byteways::gpu
