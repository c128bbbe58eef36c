// See host_runtime.hpp.
#include "runtimes/host/host_runtime.hpp"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "core/cpus.hpp"
#include "memory/host_memory.hpp"
#include "memory/placement.hpp"
#include "runtimes/factories.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/host_stream.hpp"
#include "runtimes/host/isa.hpp"

namespace byteways {
namespace {

// The queue is a list in memory without a limit of its own; this keeps batches reasonable.
constexpr unsigned kQueueDepth = 1u << 16;
constexpr int kClockReadings = 20'000;  // a few hundred microseconds: enough to find the smallest step

struct ArgumentBlock {
  alignas(std::max_align_t) std::array<std::byte, kMostArgumentBytes> bytes;
};

double smallest_clock_step() {
  Clock& clock = host_clock();
  Nanoseconds smallest = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds before = clock.now();
  for (int reading = 0; reading < kClockReadings; ++reading) {
    const Nanoseconds now = clock.now();
    if (now > before) smallest = std::min(smallest, now - before);
    before = now;
  }
  return static_cast<double>(smallest);
}

HostStream& host(Stream& stream) { return static_cast<HostStream&>(stream); }
HostEvent& host(Event& event) { return static_cast<HostEvent&>(event); }

void copy_in_a_row(const void* block, const TeamMember&) {
  const auto& copies = *static_cast<const CopySeries*>(block);
  for (std::uint64_t k = copies.first; k < copies.first + copies.count; ++k) {
    const std::uint64_t offset = k % copies.slots * copies.stride_bytes;
    std::memcpy(static_cast<std::byte*>(copies.destination) + offset,
                static_cast<const std::byte*>(copies.source) + offset, copies.bytes);
  }
}

}  // namespace

HostRuntime::HostRuntime(HostCpus cpus)
    : cpu_name_(std::move(cpus.name)),
      domains_(std::move(cpus.domains)),
      timer_resolution_ns_(smallest_clock_step()) {
  for (const HostDomain& domain : domains_) cores_.push_back(std::make_unique<CorePool>(domain.cpus));
}

const HostDomain& HostRuntime::domain(int device) const {
  if (device < 0 || device >= device_count())
    throw Error("device", std::to_string(device),
                "the host has " + std::to_string(device_count()) + " devices");
  return domains_[static_cast<std::size_t>(device)];
}

std::string HostRuntime::version() const {
  utsname names{};
  const std::string kernel = uname(&names) == 0 ? names.release : "unknown";
  return "Linux " + kernel + ", glibc " + gnu_get_libc_version();  // whose memcpy it is
}

DeviceInfo HostRuntime::device(int device) {
  const HostDomain& cores = domain(device);
  DeviceInfo info;
  info.model = cpu_name_;
  info.architecture = cpu_architecture();
  info.numa_domain = cores.numa_domain;
  info.multiprocessors = cores.physical_cores;
  info.memory_bytes = cores.memory_bytes;
  info.last_level_cache_bytes = cores.last_level_cache_bytes;
  info.pageable_access = true;
  return info;
}

Availability HostRuntime::offers(Memory memory, int device) {
  domain(device);
  switch (memory) {
    case Memory::pageable:
      return {true, {}};
    case Memory::hugepage:
      return offers_hugepage();
    default:
      break;
  }
  const std::string name(memory_name(memory));
  if (is_device(memory))
    return {false, name + " memory belongs to a GPU; a CPU's own memory is pageable or hugepage"};
  return {false, name + " memory comes from a GPU runtime, and none is usable here"};
}

std::unique_ptr<Allocation> HostRuntime::allocate(Memory memory, int device, std::uint64_t bytes,
                                                  int numa_domain) {
  if (bytes == 0) throw Error("allocate", "size", "a buffer of 0 bytes was asked for");
  if (memory == Memory::pageable) return allocate_pageable(bytes, numa_domain);
  if (memory == Memory::hugepage) return allocate_hugepage(bytes, numa_domain);
  throw Unsupported("allocate", std::string(memory_name(memory)), offers(memory, device).reason);
}

std::unique_ptr<Stream> HostRuntime::create_stream(int device) {
  domain(device);
  return std::make_unique<HostStream>(*cores_[static_cast<std::size_t>(device)]);
}

std::unique_ptr<Stream> HostRuntime::create_stream_on(int device, std::int64_t core) {
  const std::vector<int>& cpus = domain(device).cpus;
  if (core < 0 || core >= static_cast<std::int64_t>(cpus.size()))
    throw Unsupported("stream", "core",
                      "core " + std::to_string(core) + " is none of the " + std::to_string(cpus.size()) +
                          " that this process may use there");
  return std::make_unique<HostStream>(*cores_[static_cast<std::size_t>(device)],
                                      cpus[static_cast<std::size_t>(core)]);
}

std::unique_ptr<Event> HostRuntime::create_event(int device) {
  domain(device);
  return std::make_unique<HostEvent>();
}

void HostRuntime::record(Event& event, Stream& stream) { host(event).last = host(stream).enqueue_passing(); }

void HostRuntime::wait(Stream& stream, Event& event) {
  const auto passing = host(event).last;
  if (passing) host(stream).enqueue([passing] { passing->wait(); });
}

void HostRuntime::copy_series(const CopySeries& copies, Stream& stream) {
  HostStream& queue = host(stream);
  queue.enqueue([&queue, copies] { queue.team().run(1, copy_in_a_row, &copies); });
}

PreparedKernel HostRuntime::prepare(int device, std::string_view kernel) {
  domain(device);
  const HostKernel* found = find_host_kernel(kernel);
  if (found == nullptr)
    throw Unsupported("kernel", "unavailable", "the host has no kernel '" + std::string(kernel) + "'");
  if (!found->obstacle.empty()) throw Unsupported("kernel", "unavailable", found->obstacle);
  return {found->name, found->argument_bytes, found, {1, 1, 0}};  // a block is a thread, one per core
}

void HostRuntime::launch_series(const PreparedKernel& kernel, const LaunchShape& shape, const void* arguments,
                                std::size_t argument_bytes, const LaunchSeries& series, Stream& stream) {
  if (argument_bytes != kernel.argument_bytes)
    throw Error("launch", std::string(kernel.name),
                "an argument block of " + std::to_string(argument_bytes) + " bytes instead of " +
                    std::to_string(kernel.argument_bytes));
  HostStream& queue = host(stream);
  const unsigned size = std::max(1u, shape.blocks);
  const HostFunction function = static_cast<const HostKernel*>(kernel.handle)->function;
  queue.team().expect(size, static_cast<unsigned>(series.count));
  for (std::uint64_t k = 0; k < series.count; ++k) {
    series.set(k);
    ArgumentBlock block;
    std::memcpy(block.bytes.data(), arguments, argument_bytes);
    queue.enqueue([&queue, size, function, block] { queue.team().run(size, function, block.bytes.data()); });
  }
}

bool HostRuntime::finished(Event& event) { return !host(event).last || host(event).last->done(); }

void HostRuntime::synchronize(Event& event) {
  const auto passing = host(event).last;
  if (!passing) return;
  passing->wait();
  if (passing->error) std::rethrow_exception(passing->error);
}

void HostRuntime::synchronize(Stream& stream) { host(stream).synchronize(); }

double HostRuntime::elapsed_ns(Event& begin, Event& end) {
  if (!host(begin).last || !host(end).last || !finished(begin) || !finished(end))
    throw Error("elapsed", "events", "an event was not recorded, or has not happened yet");
  return static_cast<double>(host(end).last->time - host(begin).last->time);
}

double HostRuntime::timer_resolution_ns(int device) {
  domain(device);
  return timer_resolution_ns_;
}

unsigned HostRuntime::queue_depth(int device) {
  domain(device);
  return kQueueDepth;
}

bool HostRuntime::bind_thread_near(int device) { return bind_this_thread(domain(device).cpus); }

std::map<int, std::uint64_t> HostRuntime::placement(const void* data, std::uint64_t bytes) {
  return sample_placement(data, bytes);
}

std::unique_ptr<Allocation> HostRuntime::populated_pages(std::uint64_t bytes, int numa_domain) {
  auto pages = allocate_pageable(bytes, numa_domain);
  if (!populate(pages->data(), bytes))
    throw OutOfMemory("populate", "ENOMEM", "the pages to register cannot be had");
  return pages;
}

// Page placement is decided by the thread that touches them first.
std::unique_ptr<Allocation> HostRuntime::map_pages(Memory memory, std::uint64_t bytes, int) {
  return map_plain_pages(memory, bytes);
}

void HostRuntime::touch(void* data, std::uint64_t bytes) { touch_pages(data, bytes); }

std::shared_ptr<void> HostRuntime::place_thread(int numa_domain) {
  return std::make_shared<ThreadPlacement>(numa_domain);
}

int HostRuntime::numa_domain_of(const std::string& pci_address) {
  return byteways::numa_domain_of(pci_address);
}

bool HostRuntime::bind_thread_near_pci(const std::string& pci_address) {
  return allowed_.bind_thread_near(pci_address);
}

std::unique_ptr<Host> open_host(std::vector<LibraryReport>& reports) {
  host_isa();  // refuses a wrong setting now and not in the first case
  auto runtime = std::make_unique<HostRuntime>(host_cpus());
  LibraryReport report;
  report.library = "host";
  report.usable = true;
  report.found_by = "built in";
  report.version = runtime->version();
  reports.push_back(std::move(report));
  return runtime;
}

}  // namespace byteways
