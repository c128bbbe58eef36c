// The host of a simulated machine: its CPUs, pages and clock are the simulator's
// (simulator/vendors/host.def), loaded as the vendors' libraries are. It has the same name as the real host,
// and the same kernel names.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "runtimes/factories.hpp"
#include "runtimes/gpu/function_table.hpp"
#include "runtimes/host.hpp"
#include "runtimes/mpi/table.hpp"

namespace byteways::simulated {

struct HostTable {
#define BYTEWAYS_TABLE "simulator/vendors/host.def"
#include "runtimes/gpu/function_table.inc"
  // Throws the error of a function that failed. `device`: the device of the call.
  void check(const char* call, int answer, const std::string& device = {}) const;
};

// Returns the simulator with the machine of this process. Throws Error with the simulator's message.
std::shared_ptr<const HostTable> open_machine(const std::string& simulator, const std::string& sheet,
                                              LibraryReport& report);

// Virtual time: advances while a thread waits or reads the clock.
class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(std::shared_ptr<const HostTable> machine) : machine_(std::move(machine)) {}
  Nanoseconds now() override { return machine_->now(); }
  std::unique_ptr<Watchdog> watchdog(std::function<void()> action) override;
  bool runs_by_itself() const override { return false; }
  void pass(Nanoseconds time) override { machine_->pass(time); }
  void carry(const std::function<void()>& body) override;

 private:
  std::shared_ptr<const HostTable> machine_;
};

class SimulatedHost final : public Host {
 public:
  explicit SimulatedHost(std::shared_ptr<const HostTable> machine)
      : machine_(std::move(machine)), clock_(machine_) {}

  std::string_view name() const override { return "host"; }
  std::string_view timed_by() const override { return "host-clock"; }
  std::string version() const override;
  int device_count() const override { return machine_->domains(); }
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

  Clock& clock() override { return clock_; }
  std::map<int, std::uint64_t> placement(const void* data, std::uint64_t bytes) override;
  std::unique_ptr<Allocation> populated_pages(std::uint64_t bytes, int numa_domain) override;
  std::unique_ptr<Allocation> map_pages(Memory memory, std::uint64_t bytes, int numa_domain) override;
  void touch(void* data, std::uint64_t bytes) override;
  std::unique_ptr<Stream> create_stream_on(int device, std::int64_t core) override;
  std::shared_ptr<void> place_thread(int numa_domain) override;
  int numa_domain_of(const std::string& pci_address) override;
  std::string sysfs() const override { return {}; }
  bool bind_thread_near_pci(const std::string& pci_address) override;

 private:
  void require_device(int device) const;
  std::unique_ptr<Allocation> allocate_at(Memory memory, std::uint64_t bytes, int numa_domain,
                                          bool populated);

  std::shared_ptr<const HostTable> machine_;
  SimulatedClock clock_;
};

}  // namespace byteways::simulated
