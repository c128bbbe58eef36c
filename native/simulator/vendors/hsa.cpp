// The HSA runtime's entry points on the simulated machine: every row of runtimes/hip/hsa.def. Agents are the
// NUMA domains of the CPUs, then the GPUs that ROCR_VISIBLE_DEVICES selects.
//
// Copy engines are reported as in ROCR 6 (amd_gpu_agent.cpp, GpuAgent::DmaCopyStatus): 0 and 1 serve the
// host; those from 2 on serve xGMI, and only they copy between GPUs linked by it.
#include "runtimes/hip/hsa.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "simulator/vendors/api.hpp"

#define BYTEWAYS_ENTRY_TABLE "runtimes/hip/hsa.def"

namespace byteways::sim::hsa_api {

using hip::HsaTable;
using Agent = HsaTable::Agent;
using Signal = HsaTable::Signal;
using AgentVisitor = HsaTable::AgentVisitor;

namespace {

constexpr int kError = 0x1000;           // HSA_STATUS_ERROR
constexpr std::uint32_t kFirstPeer = 2;  // HSA_AMD_SDMA_ENGINE_2
constexpr std::uint16_t kMajor = 1, kMinor = 1;

// Its value becomes 0 when the work of `stream` is complete.
struct Completion {
  std::int64_t value = 0;
  Stream* stream = nullptr;
};

// Runs the body of an entry point; exceptions become an HSA status.
template <class Body>
int tell(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const Refusal& refusal) {
    return refusal.code;
  } catch (const Failure& failure) {
    return failure.code() == Code::invalid || failure.code() == Code::no_peer_access
               ? HsaTable::kInvalidArgument
               : kError;
  } catch (...) {
    return kError;
  }
}

void demand(bool condition, int status) {
  if (!condition) throw Refusal{status};
}

bool is_off(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::string_view(text) == "0";
}

// The process environment at the first call.
struct Environment {
  CopyPolicy copies;
  std::vector<int> gpus;
  explicit Environment(const Model& model) : gpus(static_cast<std::size_t>(model.gpu.count)) {
    copies.engines = !is_off("HSA_ENABLE_SDMA");
    copies.peer_engines = !is_off("HSA_ENABLE_PEER_SDMA");
    std::iota(gpus.begin(), gpus.end(), 0);
    if (const char* list = std::getenv("ROCR_VISIBLE_DEVICES"))
      gpus = choose_visible(gpus, list, [&](int gpu) { return amd_uuid_text(model, gpu); });
  }
};

World& world() {
  World& machine = World::get();
  demand(machine.model().vendor == "amd", HsaTable::kOutOfResources);
  return machine;
}

const Environment& environment() {
  static const Environment first(world().model());
  return first;
}

// Handles start at 1.
std::vector<Place> places() {
  std::vector<Place> all;
  for (int domain = 0; domain < world().model().cpu.domains; ++domain)
    all.push_back({Place::Kind::cpu, domain});
  for (const int gpu : environment().gpus) all.push_back({Place::Kind::gpu, gpu});
  return all;
}

Place place_of(Agent agent) {
  const std::vector<Place> all = places();
  demand(agent.handle >= 1 && agent.handle <= all.size(), HsaTable::kInvalidAgent);
  return all[agent.handle - 1];
}

bool is_gpu(Place place) { return place.kind == Place::Kind::gpu; }

std::uint32_t pci_number(int gpu, bool domain) {
  unsigned parts[4] = {};
  const std::string& address = world().model().gpu.pci_addresses.at(static_cast<std::size_t>(gpu));
  demand(std::sscanf(address.c_str(), "%x:%x:%x.%x", parts, parts + 1, parts + 2, parts + 3) == 4, kError);
  return domain ? parts[0] : parts[1] << 8 | parts[2] << 3 | parts[3];
}

std::uint32_t engines_between(Place from, Place to) {
  const Model& model = world().model();
  const auto peers = static_cast<std::uint32_t>(model.gpu.peer_copy_engines);
  const auto own = static_cast<std::uint32_t>(model.gpu.copy_engines) - peers;
  const std::uint32_t for_peers = ((1u << peers) - 1) << kFirstPeer;
  if (is_gpu(from) && is_gpu(to) && peers > 0 && world().can_access_peer(from.index, to.index))
    return for_peers;
  // "Due to a RAS issue, GFX90a can only support H2D copies on SDMA0".
  const bool first = !is_gpu(from) || model.gpu.architecture.find("gfx90a") == std::string::npos;
  return (first ? 1u : 0u) | (own > 1 ? 2u : 1u) | for_peers;
}

// Requires two agents, at least one of them a GPU.
void require_two(Place from, Place to) {
  demand(is_gpu(from) || is_gpu(to), HsaTable::kInvalidArgument);
  demand(!(from == to), HsaTable::kInvalidAgent);
}

Completion& completion(Signal signal) { return *reinterpret_cast<Completion*>(signal.handle); }

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int hsa_init() {
  return tell([] { environment(); });
}

int hsa_status_string(int status, const char** text) {
  return tell([&] {
    demand(text != nullptr, HsaTable::kInvalidArgument);
    *text = status == HsaTable::kInvalidArgument  ? "One of the actual arguments does not meet a precondition"
            : status == HsaTable::kInvalidAgent   ? "The agent is invalid"
            : status == HsaTable::kOutOfResources ? "The runtime failed to allocate the necessary resources"
                                                  : "A generic error has occurred";
  });
}

int hsa_system_get_info(int what, void* value) {
  return tell([&] {
    demand(what == HsaTable::kSystemVersionMajor || what == HsaTable::kSystemVersionMinor,
           HsaTable::kInvalidArgument);
    give(static_cast<std::uint16_t*>(value), what == HsaTable::kSystemVersionMajor ? kMajor : kMinor);
  });
}

int hsa_iterate_agents(AgentVisitor visitor, void* data) {
  std::size_t count = 0;
  const int status = tell([&] { count = places().size(); });
  if (status != 0) return status;
  for (std::uint64_t handle = 1; handle <= count; ++handle)
    if (const int stopped = visitor({handle}, data); stopped != 0) return stopped;
  return 0;
}

int hsa_agent_get_info(Agent agent, int what, void* value) {
  return tell([&] {
    const Place place = place_of(agent);
    if (what == HsaTable::kAgentDevice)
      return give(static_cast<int*>(value), is_gpu(place) ? HsaTable::kGpu : HsaTable::kCpu);
    const bool domain = what == HsaTable::kAgentDomain;
    demand(domain || what == HsaTable::kAgentBdf, HsaTable::kInvalidArgument);
    give(static_cast<std::uint32_t*>(value), is_gpu(place) ? pci_number(place.index, domain) : 0);
  });
}

int hsa_signal_create(std::int64_t value, std::uint32_t, const Agent*, Signal* signal) {
  return tell([&] {
    demand(signal != nullptr, HsaTable::kInvalidArgument);
    signal->handle = reinterpret_cast<std::uint64_t>(new Completion{value, nullptr});
  });
}

int hsa_signal_destroy(Signal signal) {
  delete &completion(signal);
  return 0;
}

void hsa_signal_store_screlease(Signal signal, std::int64_t value) { completion(signal).value = value; }

// Waits for the copy under any condition: nothing else changes a signal here.
std::int64_t hsa_signal_wait_scacquire(Signal signal, int, std::int64_t, std::uint64_t, int) {
  Completion& waited = completion(signal);
  if (waited.stream == nullptr) return waited.value;
  const int status = tell([&] { world().synchronize(waited.stream); });
  waited.stream = nullptr;
  return waited.value = status == 0 ? 0 : -1;
}

int hsa_amd_memory_copy_engine_status(Agent to_agent, Agent from_agent, std::uint32_t* mask) {
  return tell([&] {
    const Place to = place_of(to_agent), from = place_of(from_agent);
    require_two(from, to);
    give(mask, engines_between(from, to));
  });
}

int hsa_amd_memory_async_copy_on_engine(void* destination, Agent to_agent, const void* source,
                                        Agent from_agent, std::size_t bytes, std::uint32_t dependencies,
                                        const Signal*, Signal done, int engine, bool) {
  return tell([&] {
    const Place to = place_of(to_agent), from = place_of(from_agent);
    require_two(from, to);
    const auto bits = static_cast<std::uint32_t>(engine);
    demand(dependencies == 0 && std::has_single_bit(bits) && (bits & engines_between(from, to)) != 0,
           HsaTable::kInvalidArgument);
    for (const void* data : {static_cast<const void*>(destination), source}) {
      const Kind kind = world().kind_of(data);  // a real engine cannot address plain memory
      demand(kind != Kind::pageable && kind != Kind::hugepage, HsaTable::kInvalidArgument);
    }
    CopyPolicy policy = environment().copies;
    // GpuAgent::DmaCopyOnEngine: settings that disable engines also disable selected ones.
    const bool peers = is_gpu(from) && is_gpu(to);
    if (policy.engines && (policy.peer_engines || !peers)) policy.engine = std::countr_zero(bits);
    completion(done).stream = world().default_stream(is_gpu(from) ? from.index : to.index);
    world().copy(destination, source, bytes, completion(done).stream, policy);
  });
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::hsa_api
