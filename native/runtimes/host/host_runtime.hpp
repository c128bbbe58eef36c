// The host as a runtime: a device is a NUMA domain with the cores that this process may use, a stream a
// thread there, a kernel a function.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtimes/host.hpp"
#include "runtimes/host/cpu_domains.hpp"
#include "runtimes/host/locality.hpp"

namespace byteways {

class HostRuntime final : public Host {
 public:
  explicit HostRuntime(HostCpus cpus);

  std::string_view name() const override { return "host"; }
  std::string_view timed_by() const override { return "host-clock"; }
  std::string version() const override;
  int device_count() const override { return static_cast<int>(domains_.size()); }
  DeviceInfo device(int device) override;

  Availability offers(Memory memory, int device) override;
  std::unique_ptr<Allocation> allocate(Memory memory, int device, std::uint64_t bytes,
                                       int numa_domain) override;
  std::uint64_t free_bytes(int) override { return 0; }  // not asked

  std::unique_ptr<Stream> create_stream(int device) override;
  std::unique_ptr<Event> create_event(int device) override;
  void record(Event& event, Stream& stream) override;
  void wait(Stream& stream, Event& event) override;
  void copy_series(const CopySeries& copies, Stream& stream) override;
  PreparedKernel prepare(int device, std::string_view kernel) override;
  void launch_series(const PreparedKernel& kernel, const LaunchShape& shape, const void* arguments,
                     std::size_t argument_bytes, const LaunchSeries& series, Stream& stream) override;

  bool finished(Event& event) override;
  void synchronize(Event& event) override;
  void synchronize(Stream& stream) override;
  double elapsed_ns(Event& begin, Event& end) override;
  double timer_resolution_ns(int device) override;
  unsigned queue_depth(int device) override;
  bool bind_thread_near(int device) override;

  Clock& clock() override { return host_clock(); }
  std::map<int, std::uint64_t> placement(const void* data, std::uint64_t bytes) override;
  std::unique_ptr<Allocation> populated_pages(std::uint64_t bytes, int numa_domain) override;
  std::unique_ptr<Allocation> map_pages(Memory memory, std::uint64_t bytes, int numa_domain) override;
  void touch(void* data, std::uint64_t bytes) override;
  std::unique_ptr<Stream> create_stream_on(int device, std::int64_t core) override;
  std::shared_ptr<void> place_thread(int numa_domain) override;
  int numa_domain_of(const std::string& pci_address) override;
  std::string sysfs() const override { return "/sys"; }
  bool bind_thread_near_pci(const std::string& pci_address) override;

 private:
  const HostDomain& domain(int device) const;

  std::string cpu_name_;
  std::vector<HostDomain> domains_;
  std::vector<std::unique_ptr<CorePool>> cores_;  // one per domain
  Cores allowed_;
  double timer_resolution_ns_ = 0;
};

}  // namespace byteways
