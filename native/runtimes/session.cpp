// See session.hpp.
#include "runtimes/session.hpp"

#include <algorithm>

#include "memory/mapping.hpp"
#include "memory/placement.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kProofWords = 8192;
constexpr std::uint64_t kProofKey = 0x5EED;
// Maximum address space of current machines: rounding up to any page size still fits in 64 bits.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;

// Behind each buffer. A page: words that a kernel moves too many are contiguous with those that it should
// move, or a line apart. Small beside any granule of a GPU's memory, so that it moves no buffer. None lies in
// front: a buffer begins where its allocation does, on a page or granule, and would begin elsewhere.
constexpr std::uint64_t kGuardBytes = 4096;

std::uint64_t whole_words(std::uint64_t bytes) {
  return (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
}

void require_possible(const Device& device, std::uint64_t bytes) {
  if (bytes == 0) throw Error("allocate", "size", "a buffer of 0 bytes was asked for", device.name());
  if (bytes > kMostBytes)
    throw OutOfMemory("allocate", "size", std::to_string(bytes) + " bytes are more than there are addresses",
                      device.name());
}

// Whether a runtime's GPUs have already been found: a library may emulate one vendor's runtime on another's.
bool shows_again(Runtime& runtime, const std::vector<std::unique_ptr<Device>>& devices) {
  for (int ordinal = 0; ordinal < runtime.device_count(); ++ordinal)
    for (const auto& device : devices)
      if (!device->is_host() && device->info.pci_address == runtime.device(ordinal).pci_address) return true;
  return false;
}

}  // namespace

// Huge pages stay as many: the guard is in what the last one has left, behind which is an inaccessible page.
// A managed guard migrates when it is checked, which is after the last sample; before a sample, pages are
// brought where the case wants them.
std::uint64_t with_guard(Memory memory, std::uint64_t bytes) {
  if (memory == Memory::hugepage) return bytes;
  return whole_words(bytes) * sizeof(std::uint64_t) + kGuardBytes;
}

Buffer::Buffer(Session& session, Device& device, Device& first_touch, Runtime& runtime,
               std::unique_ptr<Allocation> allocation, std::uint64_t bytes, Device* opener)
    : session_(&session),
      device_(&device),
      first_touch_(&first_touch),
      runtime_(&runtime),
      allocation_(std::move(allocation)),
      bytes_(bytes),
      opener_(opener),
      guarded_(session.guarded_) {
  if (guard().count != 0) guarded_->insert(this);
}

Buffer::~Buffer() { guarded_->erase(this); }

Words Buffer::guard() const {
  const std::uint64_t first = whole_words(bytes_), all = allocation_->room_bytes() / sizeof(std::uint64_t);
  return {first, all > first ? std::min(all - first, kGuardBytes / sizeof(std::uint64_t)) : 0};
}

std::map<int, std::uint64_t> Buffer::placement() const {
  if (is_device(allocation_->memory())) return {};
  return session_->host().placement(data(), bytes());
}

Session::Session(const SessionOptions& asked, const DataService& data_service) : data_service_(data_service) {
  SessionOptions options = asked;
  const bool simulated = !options.simulator.empty();
  if (simulated) options.kernel_cache.clear();  // simulated kernels must not be used on real GPUs
  auto host = simulated ? open_simulated_host(options, libraries_) : open_host(libraries_);
  host_ = host.get();
  runtimes_.push_back(std::move(host));
  number_devices(*host_, "cpu");
  if (options.gpus) open_gpus(options);
}

void Session::number_devices(Runtime& runtime, const std::string& prefix) {
  const auto named = std::count_if(devices_.begin(), devices_.end(),
                                   [&](const auto& device) { return device->name().starts_with(prefix); });
  for (int ordinal = 0; ordinal < runtime.device_count(); ++ordinal) {
    auto device = std::make_unique<Device>();
    device->runtime = &runtime;
    device->ordinal = ordinal;
    device->info = runtime.device(ordinal);
    device->info.name = prefix + std::to_string(named + ordinal);
    devices_.push_back(std::move(device));
  }
}

// GPUs of all vendors' runtimes are numbered consecutively. If one runtime has GPUs, a missing library of
// another is not reported.
void Session::open_gpus(const SessionOptions& options) {
  constexpr decltype(&open_cuda) kFactories[] = {&open_cuda, &open_hip};
  for (const auto& open : kFactories) {
    const int gpus = static_cast<int>(devices_.size()) - host_->device_count();
    if (gpus > 0 && !options.simulator.empty()) return;  // a simulated machine has GPUs of one vendor only
    std::vector<LibraryReport> reports;
    auto runtime = open(*host_, options, gpus, reports);
    if (runtime != nullptr && shows_again(*runtime, devices_)) continue;
    if (runtime != nullptr || gpus == 0 || !reports.front().path.empty())
      libraries_.insert(libraries_.end(), reports.begin(), reports.end());
    if (runtime == nullptr) continue;
    number_devices(*runtime, "gpu");
    runtimes_.push_back(std::move(runtime));
  }
}

Session::~Session() = default;

Device& Session::device(const std::string& name) const {
  for (const auto& device : devices_)
    if (device->name() == name) return *device;
  throw Error("device", "unknown", "this machine has no device '" + name + "'");
}

Runtime* Session::runtime_for(const Device& device, Memory memory, const Device* user) const {
  if (device.runtime->offered(memory, device.ordinal).available) return device.runtime;
  if (!device.is_host() || is_device(memory)) return nullptr;
  // Pinned, registered and managed host memory is allocated by a vendor's runtime.
  if (user != nullptr && !user->is_host() && user->runtime->offered(memory, 0).available)
    return user->runtime;
  for (const auto& runtime : runtimes_)
    if (runtime.get() != host_ && runtime->offered(memory, 0).available) return runtime.get();
  return nullptr;
}

Availability Session::offers(const Device& device, Memory memory) const {
  if (memory == Memory::xccl) return {false, "NCCL or RCCL allocates it, not a runtime"};
  if (runtime_for(device, memory) != nullptr) return {true, {}};
  if (device.is_host() && !is_device(memory) && !is_plain(memory))  // the GPU runtime knows the reason
    for (const auto& runtime : runtimes_)
      if (runtime.get() != host_) return runtime->offers(memory, 0);
  return device.runtime->offers(memory, device.ordinal);
}

std::unique_ptr<Buffer> Session::allocate(Device& device, Memory memory, std::uint64_t bytes,
                                          Device& first_touch, const Device* user) {
  const bool used_by_gpu = user != nullptr && !user->is_host();
  Runtime* runtime = runtime_for(device, memory, used_by_gpu ? user : &first_touch);
  if (runtime == nullptr)
    throw Unsupported("allocate", std::string(memory_name(memory)), offers(device, memory).reason,
                      device.name());
  if (const Availability known = knows(first_touch, memory, *runtime, device); !known.available)
    throw Unsupported("allocate", std::string(memory_name(memory)), known.reason, first_touch.name());
  require_possible(device, bytes);
  const std::uint64_t all_bytes = with_guard(memory, bytes);
  // Pages are touched before they are locked, so registered memory needs its placement at allocation.
  const bool registered = memory == Memory::registered && device.is_host();
  const Device& near = registered && first_touch.is_host() ? first_touch : device;
  const bool by_touch = is_plain(memory) || is_managed(memory);  // else the allocation places the pages
  const bool placed = near.is_host() && (!by_touch || &device == &first_touch);
  const int domain = placed ? near.info.numa_domain : -1;
  const int ordinal = runtime == device.runtime ? device.ordinal : 0;
  std::unique_ptr<Allocation> made;
  if (registered && !first_touch.is_host()) {
    made = host_->allocate(Memory::pageable, device.ordinal, all_bytes, -1);
    data_service_.fill(*this, first_touch, made->data(), all_bytes / sizeof(std::uint64_t), 0);
    first_touch.runtime->synchronize(service_stream(first_touch));
    made = runtime->capability<PageLocking>()->lock(std::move(made), ordinal);
  } else {
    made = runtime->allocate(memory, ordinal, all_bytes, domain);
  }
  auto buffer = std::make_unique<Buffer>(*this, device, first_touch, *runtime, std::move(made), bytes);
  touch(*buffer);
  return buffer;
}

void Session::touch(Buffer& buffer) {
  Device& by = buffer.first_touch();
  const Memory memory = buffer.allocation().memory();
  if (&by != &buffer.device() && is_device(memory)) {
    const Availability reached = by.is_host() ? cores_reach(buffer.device()) : open_to(by, buffer);
    if (!reached.available)
      throw Unsupported("first touch", std::string(memory_name(memory)), reached.reason, by.name());
  }
  const Words guard = buffer.guard();
  const std::uint64_t words =
      guard.count != 0 ? guard.first + guard.count : buffer.bytes() / sizeof(std::uint64_t);
  data_service_.fill(*this, by, buffer.data(), words, 0);
  by.runtime->synchronize(service_stream(by));
}

Availability Session::cores_reach(const Device& owner) {
  if (owner.info.host_access) return {true, {}};
  return {false, "a CPU thread cannot reach the memory of " + owner.name()};
}

std::unique_ptr<Buffer> Session::open_exported(Device& device, std::uint64_t bytes, Device& opener,
                                               const std::string& handle, bool guarded) {
  if (const Availability known = knows(opener, Memory::ipc, *device.runtime, device); !known.available)
    throw Unsupported("open", "ipc", known.reason, opener.name());
  require_possible(device, bytes);
  return std::make_unique<Buffer>(
      *this, device, device, *device.runtime,
      opener.runtime->capability<ProcessHandles>()->open(handle, opener.ordinal,
                                                         guarded ? with_guard(Memory::ipc, bytes) : bytes),
      bytes, &opener);
}

std::unique_ptr<Allocation> Session::bare_block(Device& device, Memory memory, std::uint64_t bytes) {
  require_possible(device, bytes);
  const int domain = device.is_host() ? device.info.numa_domain : -1;
  if (is_plain(memory)) return host_->map_pages(memory, bytes, domain);
  Runtime* runtime = runtime_for(device, memory);
  if (runtime == nullptr)
    throw Unsupported("allocate", std::string(memory_name(memory)), offers(device, memory).reason,
                      device.name());
  return runtime->allocate(memory, runtime == device.runtime ? device.ordinal : 0, bytes, domain);
}

void Session::make_resident(Buffer& buffer, std::uint64_t first, std::uint64_t end) {
  const Device& device = buffer.device();
  constexpr std::uint64_t kMigrationBytes = 2
                                            << 20;  // drivers migrate up to this much around a faulting page
  const std::uint64_t from = first / kMigrationBytes * kMigrationBytes;
  const std::uint64_t to =
      std::min(buffer.bytes(), (end + kMigrationBytes - 1) / kMigrationBytes * kMigrationBytes);
  buffer.runtime().capability<ManagedPages>()->make_resident(buffer.data() + from, to - from,
                                                             page_place(device));
}

PagePlace Session::page_place(const Device& device) const {
  if (!device.is_host()) return {device.ordinal, -1};
  return {-1, host_->device_count() > 1 ? device.info.numa_domain : -1};
}

Availability Session::hold(const Buffer& buffer, const Device& reader, bool hold) {
  const Device& owner = buffer.device();
  if (&owner == &reader) return {true, {}};
  if (reader.is_host() && !owner.is_host())
    return {false,
            "pages that are kept on " + owner.name() + " move when " + reader.name() + " touches them"};
  if (const Availability known = knows(reader, buffer); !known.available) return known;
  const Offer<ManagedPages>& pages = reader.runtime->capability<ManagedPages>();
  if (!pages) return pages.availability();
  return pages->hold(buffer.data(), buffer.bytes(), owner.is_host() ? -1 : owner.ordinal, reader.ordinal,
                     hold);
}

PageResidency Session::residency(const Buffer& buffer, std::uint64_t first, std::uint64_t end) const {
  const std::uint64_t page = base_page_bytes();
  const std::uint64_t from = first / page * page;
  const std::uint64_t bytes = std::min(buffer.bytes(), (end + page - 1) / page * page) - from;
  const std::byte* data = buffer.data() + from;
  PageResidency found;
  found.sampled = std::min<std::uint64_t>((bytes + page - 1) / page, kSampledPages);
  for (const auto& [domain, pages] : host_->placement(data, bytes)) {
    const auto owner =
        std::find_if(devices_.begin(), devices_.end(), [&, domain = domain](const auto& device) {
          return (device->is_host() ? device->info.numa_domain : device->info.memory_domain) == domain;
        });
    const bool on_gpu = owner != devices_.end() && !(*owner)->is_host();
    (on_gpu ? found.on_gpus : found.on_host)[owner == devices_.end() ? "host" : (*owner)->name()] += pages;
  }
  const Offer<ManagedPages>& pages = buffer.runtime().capability<ManagedPages>();
  if (!pages) return found;
  const std::optional<int> ordinal = pages->last_prefetch(data, bytes);
  if (!ordinal) return found;
  found.prefetched_to = "host";
  for (const auto& device : devices_)
    if (*ordinal >= 0 && device->runtime == &buffer.runtime() && device->ordinal == *ordinal)
      found.prefetched_to = device->name();
  return found;
}

std::string Session::different_runtimes(const Device& one, const Device& other) {
  return one.name() + " and " + other.name() + " belong to different runtimes, " +
         std::string(one.runtime->name()) + " and " + std::string(other.runtime->name());
}

Availability Session::enable_peer(const Device& executor, const Device& owner) {
  const Offer<PeerAccess>& peers = executor.runtime->capability<PeerAccess>();
  return peers ? peers->enable(executor.ordinal, owner.ordinal) : peers.availability();
}

Availability Session::prove_peer(Device& executor, Device& owner, Memory memory) {
  if (&executor == &owner) return {true, {}};
  const auto key = std::make_tuple(&executor, &owner, memory);
  const auto known = peers_.find(key);
  if (known != peers_.end()) return known->second;
  const auto prove = [&]() -> Availability {
    if (executor.runtime != owner.runtime) return {false, different_runtimes(executor, owner)};
    if (!executor.is_host()) {  // the host has a single address space
      const Availability enabled = enable_peer(executor, owner);
      if (!enabled.available) return enabled;
    }
    const auto buffer = allocate(owner, memory, kProofWords * sizeof(std::uint64_t), owner);
    if (needs_grant(memory)) {
      const Availability granted =
          owner.runtime->capability<PeerAccess>()->grant(buffer->allocation(), executor.ordinal);
      if (!granted.available) return granted;
    }
    data_service_.poison(*this, owner, buffer->data(), kProofWords);
    owner.runtime->synchronize(service_stream(owner));
    data_service_.fill(*this, executor, buffer->data(), kProofWords, kProofKey);
    executor.runtime->synchronize(service_stream(executor));
    const std::uint64_t unwritten =
        data_service_.count_wrong(*this, owner, buffer->data(), kProofWords, kProofKey);
    if (unwritten != 0)
      return {false, "peer access was granted, but " + std::to_string(unwritten) + " of " +
                         std::to_string(kProofWords) + " words that " + executor.name() +
                         " wrote did not arrive"};
    const std::uint64_t misread =
        data_service_.count_wrong(*this, executor, buffer->data(), kProofWords, kProofKey);
    if (misread != 0)
      return {false, "peer access was granted, but " + executor.name() + " reads other words than " +
                         owner.name() + " holds (" + std::to_string(misread) + " of " +
                         std::to_string(kProofWords) + ")"};
    return {true, {}};
  };
  return peers_[key] = prove();
}

Availability Session::knows(const Device& device, const Buffer& buffer) const {
  return knows(device, buffer.allocation().memory(), buffer.runtime(), buffer.device());
}

Availability Session::knows(const Device& device, Memory memory, const Runtime& giver, const Device& owner) {
  if (device.is_host() || is_plain(memory) || device.runtime == &giver) return {true, {}};
  return {false, std::string(memory_name(memory)) + " memory of " + owner.name() + " comes from " +
                     std::string(giver.name()) + ", of which " + device.name() + " is no GPU"};
}

Availability Session::open_to(Device& executor, Buffer& buffer) {
  Device& owner = buffer.device();
  const Memory memory = buffer.allocation().memory();
  if (memory == Memory::ipc && &buffer.service_device() != &executor)
    return {false,
            "this memory of another process was opened for " + buffer.service_device().name() + " only"};
  if (memory == Memory::ipc || owner.is_host() || &owner == &executor) return {true, {}};
  if (!needs_grant(memory)) return prove_peer(executor, owner);
  const Availability proved = prove_peer(executor, owner, memory);
  return proved.available
             ? owner.runtime->capability<PeerAccess>()->grant(buffer.allocation(), executor.ordinal)
             : proved;
}

Device& Session::host_beside(const Device& gpu) const {
  Device* first = nullptr;
  for (const auto& device : devices_) {
    if (!device->is_host()) continue;
    if (device->info.numa_domain == gpu.info.numa_domain) return *device;
    if (first == nullptr) first = device.get();
  }
  return *first;
}

Session::Service& Session::service(Device& device) {
  const auto known = services_.find(&device);
  if (known != services_.end()) return known->second;
  Service service;  // kept only if complete: resources missing now may be available for the next case
  service.stream = device.runtime->create_stream(device.ordinal);
  service.own = device.runtime->allocate(device.is_host() ? Memory::pageable : Memory::device, device.ordinal,
                                         kScratchBytes, -1);
  service.shared = device.runtime->allocate(device.is_host() ? Memory::pageable : Memory::pinned,
                                            device.ordinal, kScratchBytes, -1);
  std::fill_n(service.shared->data(), kScratchBytes, std::byte{0});
  return services_.emplace(&device, std::move(service)).first->second;
}

Stream& Session::service_stream(Device& device) { return *service(device).stream; }
ScratchPage& Session::own_scratch(Device& device) {
  return *reinterpret_cast<ScratchPage*>(service(device).own->data());
}
ScratchPage& Session::shared_scratch(Device& device) {
  return *reinterpret_cast<ScratchPage*>(service(device).shared->data());
}

unsigned int* Session::gate_word(Device& device) {
  for (const auto& first : devices_)
    if (first->runtime == device.runtime) return reinterpret_cast<unsigned int*>(&shared_scratch(*first));
  throw Error("gate", "device", "the device belongs to another session", device.name());
}

}  // namespace byteways
