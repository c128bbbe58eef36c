// See simulated_host.hpp.
#include "runtimes/simulated/simulated_host.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "interfaces/kernel_copy/arguments.hpp"
#include "memory/placement.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways::simulated {
namespace {

constexpr unsigned kQueueDepth = 1u << 16;  // like the real host, whose queue is a list in memory
constexpr std::uint64_t kPageBytes = 4 << 10, kHugePageBytes = 2 << 20;

std::string name_of(int device) { return "cpu" + std::to_string(device); }

class SimulatedMemory final : public Allocation {
 public:
  // `placed`: its pages exist from the beginning, not only after first touch.
  SimulatedMemory(std::shared_ptr<const HostTable> machine, Memory memory, int domain, std::uint64_t bytes,
                  bool placed)
      : machine_(std::move(machine)) {
    void* data = nullptr;
    machine_->check(machine_->allocate.symbol(),
                    machine_->allocate(domain, static_cast<int>(memory), bytes, &data), name_of(domain));
    memory_ = memory;
    bytes_ = bytes;
    page_bytes_ = memory == Memory::hugepage ? kHugePageBytes : kPageBytes;
    data_ = static_cast<std::byte*>(data);
    if (!placed) machine_->leave_to_first_touch(data_);
  }
  ~SimulatedMemory() override { machine_->release(data_); }

 private:
  std::shared_ptr<const HostTable> machine_;
};

// A stream or an event: the handle of an object that the machine created for a device.
template <class Base, auto create, auto destroy>
class Simulated final : public Base {
 public:
  Simulated(std::shared_ptr<const HostTable> machine, int device)
      : machine_(std::move(machine)), device_(name_of(device)) {
    const auto& made = *machine_.*create;
    machine_->check(made.symbol(), made(device, &handle_), device_);
  }
  ~Simulated() override { (*machine_.*destroy)(handle_); }
  void* handle() const { return handle_; }
  const std::string& device() const { return device_; }

 private:
  std::shared_ptr<const HostTable> machine_;
  std::string device_;
  void* handle_ = nullptr;
};
using SimulatedStream = Simulated<Stream, &HostTable::create_stream, &HostTable::destroy_stream>;
using SimulatedEvent = Simulated<Event, &HostTable::create_event, &HostTable::destroy_event>;

const SimulatedStream& of(Stream& stream) { return static_cast<const SimulatedStream&>(stream); }
const SimulatedEvent& of(Event& event) { return static_cast<const SimulatedEvent&>(event); }

// The action runs inside the call that advances time, on the session's thread, which also destroys the
// watchdog.
class SimulatedWatchdog final : public Watchdog {
 public:
  SimulatedWatchdog(std::shared_ptr<const HostTable> machine, std::function<void()> action)
      : machine_(std::move(machine)), action_(std::move(action)) {}
  ~SimulatedWatchdog() override { disarm(); }
  void arm(Nanoseconds delay) override {
    disarm();
    ticket_ = machine_->start_timer(
        delay, [](void* self) { static_cast<SimulatedWatchdog*>(self)->action_(); }, this);
  }
  void disarm() override { machine_->cancel_timer(std::exchange(ticket_, 0)); }

 private:
  std::shared_ptr<const HostTable> machine_;
  const std::function<void()> action_;
  std::uint64_t ticket_ = 0;
};

// While it exists, this thread's pages come from one domain.
class SimulatedPlacement {
 public:
  SimulatedPlacement(std::shared_ptr<const HostTable> machine, int domain) : machine_(std::move(machine)) {
    if (domain >= 0) machine_->set_thread_domain(domain);
  }
  ~SimulatedPlacement() { machine_->set_thread_domain(machine_->bound_domain()); }
  SimulatedPlacement(const SimulatedPlacement&) = delete;
  SimulatedPlacement& operator=(const SimulatedPlacement&) = delete;

 private:
  std::shared_ptr<const HostTable> machine_;
};

}  // namespace

void HostTable::check(const char* call, int answer, const std::string& device) const {
  // simulator/machine/world.hpp numbers its codes in this order, and returns the number + 1.
  constexpr const char* kNames[] = {"invalid",        "out of memory",   "no device",
                                    "no peer access", "already enabled", "illegal address",
                                    "device lost",    "not supported",   "internal"};
  constexpr int kOutOfMemory = 2, kNotSupported = 8;
  if (answer == 0) return;
  const bool known = answer > 0 && answer <= static_cast<int>(std::size(kNames));
  const std::string name = known ? kNames[answer - 1] : "error " + std::to_string(answer);
  const std::string text = last_error();
  if (answer == kOutOfMemory) throw OutOfMemory(call, name, text, device);
  if (answer == kNotSupported) throw Unsupported(call, name, text, device);
  throw Error(call, name, text, device);
}

std::shared_ptr<const HostTable> open_machine(const std::string& simulator, const std::string& sheet,
                                              LibraryReport& report) {
  report.library = "host";
  const Library library = Library::open({}, {}, "", simulator, report);
  if (!library) throw Error("dlopen", "simulator", report.reason);
  auto machine = std::make_shared<HostTable>();
  machine->bind(library, report);
  if (!gpu::complete(report)) throw Error("dlopen", "simulator", report.reason);
  machine->check(machine->load.symbol(), machine->load(sheet.c_str()));
  report.usable = true;
  report.version = std::string("simulated ") + machine->machine_name();
  return machine;
}

std::unique_ptr<Watchdog> SimulatedClock::watchdog(std::function<void()> action) {
  return std::make_unique<SimulatedWatchdog>(machine_, std::move(action));
}

void SimulatedClock::carry(const std::function<void()>& body) {
  struct Carried {
    const std::function<void()>& body;
    std::exception_ptr failure;
  } carried{body, nullptr};
  const auto play = [](void* data) {
    auto& self = *static_cast<Carried*>(data);
    try {
      self.body();
    } catch (...) {
      self.failure = std::current_exception();
    }
  };
  machine_->check(machine_->carry.symbol(), machine_->carry(play, &carried));
  if (carried.failure) std::rethrow_exception(carried.failure);
}

std::string SimulatedHost::version() const { return std::string("simulated ") + machine_->machine_name(); }

void SimulatedHost::require_device(int device) const {
  if (device < 0 || device >= device_count())
    throw Error("device", std::to_string(device),
                "the host has " + std::to_string(device_count()) + " devices");
}

DeviceInfo SimulatedHost::device(int device) {
  require_device(device);
  DeviceInfo info;
  info.model = machine_->cpu_name();
  info.architecture = machine_->cpu_architecture();
  info.numa_domain = device;
  info.multiprocessors = machine_->cores();
  info.memory_bytes = machine_->memory_bytes();
  info.last_level_cache_bytes = machine_->cache_bytes();
  info.pageable_access = true;
  return info;
}

Availability SimulatedHost::offers(Memory memory, int device) {
  require_device(device);
  if (is_plain(memory)) return {true, {}};
  const std::string name(memory_name(memory));
  if (is_device(memory))
    return {false, name + " memory belongs to a GPU; a CPU's own memory is pageable or hugepage"};
  return {false, name + " memory comes from a GPU runtime, and none is usable here"};
}

// Without a domain, first touch decides the location of pages; `populated` ones are touched by the calling
// thread.
std::unique_ptr<Allocation> SimulatedHost::allocate_at(Memory memory, std::uint64_t bytes, int numa_domain,
                                                       bool populated) {
  const int domain = numa_domain >= 0 ? numa_domain : std::max(0, machine_->bound_domain());
  return std::make_unique<SimulatedMemory>(machine_, memory, domain, bytes, populated || numa_domain >= 0);
}

std::unique_ptr<Allocation> SimulatedHost::allocate(Memory memory, int device, std::uint64_t bytes,
                                                    int numa_domain) {
  if (bytes == 0) throw Error("allocate", "size", "a buffer of 0 bytes was asked for");
  const Availability offered = offers(memory, device);
  if (!offered.available) throw Unsupported("allocate", std::string(memory_name(memory)), offered.reason);
  return allocate_at(memory, bytes, numa_domain, false);
}

std::unique_ptr<Stream> SimulatedHost::create_stream(int device) {
  require_device(device);
  return std::make_unique<SimulatedStream>(machine_, device);
}

std::unique_ptr<Stream> SimulatedHost::create_stream_on(int device, std::int64_t core) {
  if (core < 0 || core >= machine_->cores())
    throw Unsupported("stream", "core",
                      "core " + std::to_string(core) + " is none of the " +
                          std::to_string(machine_->cores()) + " of the domain");
  return create_stream(device);  // all cores of a model are equal
}

std::unique_ptr<Event> SimulatedHost::create_event(int device) {
  require_device(device);
  return std::make_unique<SimulatedEvent>(machine_, device);
}

void SimulatedHost::record(Event& event, Stream& stream) {
  machine_->check(machine_->record.symbol(), machine_->record(of(event).handle(), of(stream).handle()),
                  of(stream).device());
}

void SimulatedHost::wait(Stream& stream, Event& event) {
  machine_->check(machine_->wait.symbol(), machine_->wait(of(stream).handle(), of(event).handle()),
                  of(stream).device());
}

void SimulatedHost::copy_series(const CopySeries& copies, Stream& stream) {
  const CopyArguments arguments{.source = copies.source,
                                .destination = copies.destination,
                                .bytes = copies.bytes,
                                .source_slots = copies.slots,
                                .source_stride = copies.stride_bytes,
                                .destination_slots = copies.slots,
                                .destination_stride = copies.stride_bytes,
                                .first_operation = copies.first,
                                .operations = copies.count};
  machine_->check(machine_->launch.symbol(),
                  machine_->launch("memcpy", 1, &arguments, sizeof arguments, of(stream).handle()),
                  of(stream).device());
}

PreparedKernel SimulatedHost::prepare(int device, std::string_view kernel) {
  require_device(device);
  const HostKernel* found = find_host_kernel(kernel);
  if (found == nullptr)
    throw Unsupported("kernel", "unavailable", "the host has no kernel '" + std::string(kernel) + "'");
  return {found->name, found->argument_bytes, found, {1, 1, 0}};  // a block is a thread, one per core
}

void SimulatedHost::launch_series(const PreparedKernel& kernel, const LaunchShape& shape,
                                  const void* arguments, std::size_t argument_bytes,
                                  const LaunchSeries& series, Stream& stream) {
  if (argument_bytes != kernel.argument_bytes)
    throw Error("launch", std::string(kernel.name),
                "an argument block of " + std::to_string(argument_bytes) + " bytes instead of " +
                    std::to_string(kernel.argument_bytes));
  const std::string name(kernel.name);
  for (std::uint64_t k = 0; k < series.count; ++k) {
    series.set(k);
    machine_->check(machine_->launch.symbol(),
                    machine_->launch(name.c_str(), std::max(1u, shape.blocks), arguments, argument_bytes,
                                     of(stream).handle()),
                    of(stream).device());
  }
}

bool SimulatedHost::finished(Event& event) {
  int finished = 0;
  machine_->check(machine_->finished.symbol(), machine_->finished(of(event).handle(), &finished),
                  of(event).device());
  return finished != 0;
}

void SimulatedHost::synchronize(Event& event) {
  machine_->check(machine_->synchronize_event.symbol(), machine_->synchronize_event(of(event).handle()),
                  of(event).device());
}

void SimulatedHost::synchronize(Stream& stream) {
  machine_->check(machine_->synchronize_stream.symbol(), machine_->synchronize_stream(of(stream).handle()),
                  of(stream).device());
}

double SimulatedHost::elapsed_ns(Event& begin, Event& end) {
  double elapsed = 0;
  machine_->check(machine_->elapsed.symbol(),
                  machine_->elapsed(of(begin).handle(), of(end).handle(), &elapsed), of(end).device());
  return elapsed;
}

double SimulatedHost::timer_resolution_ns(int device) {
  require_device(device);
  return 1;  // the clock returns whole nanoseconds
}

unsigned SimulatedHost::queue_depth(int device) {
  require_device(device);
  return kQueueDepth;
}

bool SimulatedHost::bind_thread_near(int device) {
  require_device(device);
  machine_->bind_thread(device);
  machine_->set_thread_domain(device);
  return true;
}

std::map<int, std::uint64_t> SimulatedHost::placement(const void* data, std::uint64_t bytes) {
  constexpr int kMostGpus = 64;  // whose memory may be domains behind those of the CPUs
  std::vector<std::uint64_t> pages(static_cast<std::size_t>(device_count() + kMostGpus));
  const int domains = static_cast<int>(pages.size());
  machine_->check(machine_->placement.symbol(), machine_->placement(data, bytes, pages.data(), domains));
  const std::uint64_t all = (bytes + kPageBytes - 1) / kPageBytes;
  if (all > kSampledPages)  // like the real host, return a sample
    for (std::uint64_t& count : pages) count = (count * kSampledPages + all - 1) / all;
  std::map<int, std::uint64_t> placed;
  for (int domain = 0; domain < domains; ++domain)
    if (pages[static_cast<std::size_t>(domain)] != 0)
      placed[domain] = pages[static_cast<std::size_t>(domain)];
  return placed;
}

std::unique_ptr<Allocation> SimulatedHost::populated_pages(std::uint64_t bytes, int numa_domain) {
  return allocate_at(Memory::pageable, bytes, numa_domain, true);
}

std::unique_ptr<Allocation> SimulatedHost::map_pages(Memory memory, std::uint64_t bytes, int) {
  return allocate_at(memory, bytes, -1, false);
}

void SimulatedHost::touch(void* data, std::uint64_t bytes) {
  machine_->check(machine_->touch.symbol(),
                  machine_->touch(std::max(0, machine_->bound_domain()), data, bytes));
}

std::shared_ptr<void> SimulatedHost::place_thread(int numa_domain) {
  return std::make_shared<SimulatedPlacement>(machine_, numa_domain);
}

int SimulatedHost::numa_domain_of(const std::string& pci_address) {
  return machine_->gpu_domain(pci_address.c_str());
}

bool SimulatedHost::bind_thread_near_pci(const std::string& pci_address) {
  const int domain = numa_domain_of(pci_address);
  return domain >= 0 && bind_thread_near(domain);
}

}  // namespace byteways::simulated

namespace byteways {

std::unique_ptr<Host> open_simulated_host(const SessionOptions& options,
                                          std::vector<LibraryReport>& reports) {
  LibraryReport report;
  auto machine = simulated::open_machine(options.simulator, options.machine, report);
  reports.push_back(std::move(report));
  return std::make_unique<simulated::SimulatedHost>(std::move(machine));
}

void load_machine(const std::string& simulator, const std::string& sheet) {
  LibraryReport report;
  simulated::open_machine(simulator, sheet, report);
}

void restart_machine(const std::string& simulator, const std::string& sheet, std::uint64_t key) {
  LibraryReport report;
  const auto machine = simulated::open_machine(simulator, sheet, report);
  machine->check(machine->restart.symbol(), machine->restart(key));
}

void join_machine(const std::string& simulator, const std::string& sheet, int rank, int size) {
  LibraryReport report;
  const auto machine = simulated::open_machine(simulator, sheet, report);
  machine->check(machine->join.symbol(), machine->join(rank, size));
}

void act_as_other_process(const std::string& simulator, const std::string& sheet, bool other) {
  LibraryReport report;
  simulated::open_machine(simulator, sheet, report)->act_as_other_process(other ? 1 : 0);
}

std::tuple<int, int, bool> at_fault(const std::string& simulator, const std::string& sheet) {
  LibraryReport report;
  int rank = -1, gpu = -1, library = 0;
  simulated::open_machine(simulator, sheet, report)->at_fault(&rank, &gpu, &library);
  return {rank, gpu, library != 0};
}

void leave_machine(const std::string& simulator, const std::string& sheet) {
  LibraryReport report;
  simulated::open_machine(simulator, sheet, report)->leave();
}

}  // namespace byteways
