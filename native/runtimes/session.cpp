// See session.hpp.
#include "runtimes/session.hpp"

#include <algorithm>

#include "interfaces/pattern.hpp"
#include "memory/mapping.hpp"
#include "memory/placement.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kProofWords = 8192;
constexpr std::uint64_t kProofKey = 0x5EED;
// What addresses there are on today's machines: rounded up to any page, it is still a number of 64 bits.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;

void require_possible(const Agent& agent, std::uint64_t bytes) {
  if (bytes == 0) throw Error("allocate", "size", "a buffer of 0 bytes was asked for", agent.name());
  if (bytes > kMostBytes)
    throw OutOfMemory("allocate", "size", std::to_string(bytes) + " bytes are more than there are addresses",
                      agent.name());
}

}  // namespace

std::string_view memory_name(Memory memory) {
  switch (memory) {
    case Memory::pageable:
      return "pageable";
    case Memory::hugepage:
      return "hugepage";
    case Memory::pinned:
      return "pinned";
    case Memory::pinned_noncoherent:
      return "pinned-noncoherent";
    case Memory::write_combined:
      return "write-combined";
    case Memory::registered:
      return "registered";
    case Memory::managed:
      return "managed";
    case Memory::managed_coarse:
      return "managed-coarse";
    case Memory::device:
      return "device";
    case Memory::device_fine:
      return "device-fine";
    case Memory::device_uncached:
      return "device-uncached";
    case Memory::pool:
      return "pool";
    case Memory::vmm:
      return "vmm";
  }
  return "unknown";
}

Memory memory_from_name(std::string_view name) {
  for (Memory memory : kMemories)
    if (memory_name(memory) == name) return memory;
  throw Unsupported("memory", "unknown", "there is no memory named '" + std::string(name) + "'");
}

std::map<int, std::uint64_t> Buffer::placement() const {
  if (is_device(allocation_->memory())) return {};
  return session_->host().placement(allocation_->data(), allocation_->bytes());
}

Session::Session(const SessionOptions& asked) {
  SessionOptions options = asked;
  const bool simulated = !options.simulator.empty();
  if (simulated) options.kernel_cache.clear();  // what the simulator compiles is for no real GPU
  auto host = simulated ? open_simulated_host(options, libraries_) : open_host(libraries_);
  host_ = host.get();
  runtimes_.push_back(std::move(host));
  if (options.gpus) {  // one vendor's: of two that are there, the second would number its GPUs anew
    auto gpus = open_cuda(*host_, options, libraries_);
    if (gpus == nullptr) gpus = open_hip(*host_, options, libraries_);
    if (gpus != nullptr) runtimes_.push_back(std::move(gpus));
  }
  int cpus = 0, gpus = 0;
  for (const auto& runtime : runtimes_) {
    for (int device = 0; device < runtime->device_count(); ++device) {
      auto agent = std::make_unique<Agent>();
      agent->runtime = runtime.get();
      agent->device = device;
      agent->info = runtime->device(device);
      agent->info.agent =
          runtime.get() == host_ ? "cpu" + std::to_string(cpus++) : "gpu" + std::to_string(gpus++);
      agents_.push_back(std::move(agent));
    }
  }
}

Session::~Session() = default;

Agent& Session::agent(const std::string& name) const {
  for (const auto& agent : agents_)
    if (agent->name() == name) return *agent;
  throw Error("agent", "unknown", "this machine has no agent '" + name + "'");
}

Runtime* Session::runtime_for(const Agent& agent, Memory memory) const {
  if (agent.runtime->offers(memory, agent.device).available) return agent.runtime;
  if (!agent.is_host()) return nullptr;
  for (const auto& runtime :
       runtimes_)  // pinned, registered and managed memory of the host is the vendor's to give
    if (runtime.get() != host_ && !is_device(memory) && runtime->offers(memory, 0).available)
      return runtime.get();
  return nullptr;
}

Availability Session::offers(const Agent& agent, Memory memory) const {
  if (runtime_for(agent, memory) != nullptr) return {true, {}};
  if (agent.is_host() && !is_device(memory) && !is_plain(memory))  // the one that would give it says why not
    for (const auto& runtime : runtimes_)
      if (runtime.get() != host_) return runtime->offers(memory, 0);
  return agent.runtime->offers(memory, agent.device);
}

std::unique_ptr<Buffer> Session::allocate(Agent& agent, Memory memory, std::uint64_t bytes,
                                          Agent& first_touch) {
  Runtime* runtime = runtime_for(agent, memory);
  if (runtime == nullptr)
    throw Unsupported("allocate", std::string(memory_name(memory)), offers(agent, memory).reason,
                      agent.name());
  require_possible(agent, bytes);
  // Pages are touched before they are locked, so what is registered is asked for where it is to be.
  const bool registered = memory == Memory::registered && agent.is_host();
  const Agent& near = registered && first_touch.is_host() ? first_touch : agent;
  const bool placed = near.is_host() && (registered || &agent == &first_touch);
  const int domain = placed ? near.info.numa_domain : -1;
  const int device = runtime == agent.runtime ? agent.device : 0;
  const auto touch = [&](Allocation& pages) {
    fill(*this, first_touch, pages.data(), bytes / sizeof(std::uint64_t), 0);
    first_touch.runtime->synchronize(service_stream(first_touch));
  };
  std::unique_ptr<Allocation> made;
  if (registered && !first_touch.is_host()) {
    made = host_->allocate(Memory::pageable, agent.device, bytes, -1);
    touch(*made);
    made = runtime->lock(std::move(made), device);
  } else {
    made = runtime->allocate(memory, device, bytes, domain);
  }
  auto buffer = std::make_unique<Buffer>(*this, agent, first_touch, std::move(made));
  touch(buffer->allocation());
  return buffer;
}

std::unique_ptr<Allocation> Session::bare_block(Agent& agent, Memory memory, std::uint64_t bytes) {
  require_possible(agent, bytes);
  const int domain = agent.is_host() ? agent.info.numa_domain : -1;
  if (is_plain(memory)) return host_->map_pages(memory, bytes, domain);
  Runtime* runtime = runtime_for(agent, memory);
  if (runtime == nullptr)
    throw Unsupported("allocate", std::string(memory_name(memory)), offers(agent, memory).reason,
                      agent.name());
  return runtime->allocate(memory, runtime == agent.runtime ? agent.device : 0, bytes, domain);
}

void Session::make_resident(Buffer& buffer, std::uint64_t first, std::uint64_t end) {
  const Agent& agent = buffer.agent();
  Runtime* runtime = runtime_for(agent, buffer.allocation().memory());
  constexpr std::uint64_t kMigrationBytes = 2 << 20;  // drivers migrate up to so much around a faulting page
  const std::uint64_t from = first / kMigrationBytes * kMigrationBytes;
  const std::uint64_t to =
      std::min(buffer.bytes(), (end + kMigrationBytes - 1) / kMigrationBytes * kMigrationBytes);
  runtime->make_resident(buffer.data() + from, to - from, page_place(agent));
}

PagePlace Session::page_place(const Agent& agent) const {
  if (!agent.is_host()) return {agent.device, -1};
  return {-1, host_->device_count() > 1 ? agent.info.numa_domain : -1};
}

Availability Session::hold(const Buffer& buffer, const Agent& reader, bool hold) {
  const Agent& owner = buffer.agent();
  if (&owner == &reader) return {true, {}};
  if (reader.is_host() && !owner.is_host())
    return {false,
            "pages that are kept on " + owner.name() + " move when " + reader.name() + " touches them"};
  return reader.runtime->hold_pages(buffer.data(), buffer.bytes(), owner.is_host() ? -1 : owner.device,
                                    reader.device, hold);
}

PageResidency Session::residency(const Buffer& buffer, std::uint64_t first, std::uint64_t end) const {
  const std::uint64_t page = base_page_bytes();
  const std::uint64_t from = first / page * page;
  const std::uint64_t bytes = std::min(buffer.bytes(), (end + page - 1) / page * page) - from;
  const std::byte* data = buffer.data() + from;
  PageResidency found;
  found.sampled = std::min<std::uint64_t>((bytes + page - 1) / page, kSampledPages);
  for (const auto& [domain, pages] : host_->placement(data, bytes)) {
    const auto owner = std::find_if(agents_.begin(), agents_.end(), [&, domain = domain](const auto& agent) {
      return agent->is_host() && agent->info.numa_domain == domain;
    });
    found.on_host[owner == agents_.end() ? "host" : (*owner)->name()] += pages;
  }
  Runtime* runtime = runtime_for(buffer.agent(), buffer.allocation().memory());
  const std::optional<int> device = runtime == nullptr ? std::nullopt : runtime->last_prefetch(data, bytes);
  if (!device) return found;
  found.prefetched_to = "host";
  for (const auto& agent : agents_)
    if (*device >= 0 && agent->runtime == runtime && agent->device == *device)
      found.prefetched_to = agent->name();
  return found;
}

Availability Session::prove_peer(Agent& executor, Agent& owner, Memory memory) {
  if (&executor == &owner) return {true, {}};
  const auto key = std::make_tuple(&executor, &owner, memory);
  const auto known = peers_.find(key);
  if (known != peers_.end()) return known->second;
  const auto prove = [&]() -> Availability {
    if (executor.runtime != owner.runtime)
      return {false, executor.name() + " and " + owner.name() + " belong to different runtimes"};
    const Availability enabled = executor.runtime->enable_peer(executor.device, owner.device);
    if (!enabled.available) return enabled;
    const auto buffer = allocate(owner, memory, kProofWords * sizeof(std::uint64_t), owner);
    if (needs_grant(memory)) {
      const Availability granted = owner.runtime->grant(buffer->allocation(), executor.device);
      if (!granted.available) return granted;
    }
    poison(*this, owner, buffer->data(), kProofWords, 1);
    owner.runtime->synchronize(service_stream(owner));
    fill(*this, executor, buffer->data(), kProofWords, kProofKey);
    executor.runtime->synchronize(service_stream(executor));
    const CheckResult written = check(*this, owner, buffer->data(), kProofWords, kProofKey);
    if (written.bad_count != 0)
      return {false, "peer access was granted, but " + std::to_string(written.bad_count) + " of " +
                         std::to_string(kProofWords) + " words that " + executor.name() +
                         " wrote did not arrive"};
    const CheckResult read = check(*this, executor, buffer->data(), kProofWords, kProofKey);
    if (read.bad_count != 0)
      return {false, "peer access was granted, but " + executor.name() + " reads other words than " +
                         owner.name() + " holds (" + std::to_string(read.bad_count) + " of " +
                         std::to_string(kProofWords) + ")"};
    return {true, {}};
  };
  return peers_[key] = prove();
}

Availability Session::open_to(Agent& executor, Buffer& buffer) {
  Agent& owner = buffer.agent();
  if (owner.is_host() || &owner == &executor) return {true, {}};
  const Memory memory = buffer.allocation().memory();
  if (!needs_grant(memory)) return prove_peer(executor, owner);
  const Availability proved = prove_peer(executor, owner, memory);
  return proved.available ? owner.runtime->grant(buffer.allocation(), executor.device) : proved;
}

Session::Service& Session::service(Agent& agent) {
  const auto known = services_.find(&agent);
  if (known != services_.end()) return known->second;
  Service service;  // kept when all of it could be had: what is missing now may be there for the next case
  service.stream = agent.runtime->create_stream(agent.device);
  service.own = agent.runtime->allocate(agent.is_host() ? Memory::pageable : Memory::device, agent.device,
                                        kScratchBytes, -1);
  service.shared = agent.runtime->allocate(agent.is_host() ? Memory::pageable : Memory::pinned, agent.device,
                                           kScratchBytes, -1);
  std::fill_n(service.shared->data(), kScratchBytes, std::byte{0});
  return services_.emplace(&agent, std::move(service)).first->second;
}

Stream& Session::service_stream(Agent& agent) { return *service(agent).stream; }
std::byte* Session::own_scratch(Agent& agent) { return service(agent).own->data(); }
std::byte* Session::shared_scratch(Agent& agent) { return service(agent).shared->data(); }

unsigned int* Session::gate_word(Agent& agent) {
  for (const auto& first : agents_)
    if (first->runtime == agent.runtime) return reinterpret_cast<unsigned int*>(shared_scratch(*first));
  throw Error("gate", "agent", "the agent belongs to another session", agent.name());
}

}  // namespace byteways
