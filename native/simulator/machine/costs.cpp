// See costs.hpp.
#include "simulator/machine/costs.hpp"

#include <algorithm>
#include <limits>

#include "interfaces/device/geometry.hpp"
#include "simulator/machine/common.hpp"
#include "simulator/machine/index.hpp"
#include "simulator/memory/memory.hpp"

namespace byteways::sim {
namespace {

using enum Place::Kind;

constexpr double kBytesPerThread = kCopyInFlight * kAccessBytes;  // in flight per thread of a copy kernel

// Names as in a machine model: [rates.kernel-local].
std::string_view name_of(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::kernel:
      return "kernel";
    case Mechanism::bulk:
      return "bulk";
    case Mechanism::engine:
      return "engine";
    case Mechanism::blit:
      return "blit";
    default:
      return "core";
  }
}

// Devices that pass on what a route carries; switches do so within the time of their links.
double forwarders(const Route& way) {
  return static_cast<double>(std::count_if(way.hops.begin(), way.hops.end(), [&](const Hop& hop) {
    return &hop != way.hops.data() && (hop.from.starts_with("cpu") || hop.from.starts_with("gpu"));
  }));
}

// 0 in a model means that kernels share the multiprocessors, however many threads they have.
double resident_threads(const GpuModel& gpu) {
  return gpu.resident_threads > 0 ? gpu.resident_threads : std::numeric_limits<double>::infinity();
}

}  // namespace

Costs::Costs(const Model& model, const Faults& faults, Engine& engine)
    : model_(&model), engine_(&engine), router_(model, engine) {
  for (int gpu = 0; gpu < model.gpu.count; ++gpu) {
    gpu_memory_.push_back(engine.add_resource(model.gpu.memory_bytes_per_s));
    engines_.push_back(engine.add_pool(std::max(1, model.gpu.copy_engines)));
    peer_engines_.push_back(engine.add_pool(std::max(1, model.gpu.peer_copy_engines)));
    processors_.push_back(engine.add_processors(resident_threads(model.gpu)));
  }
  for (int gpu = 0; gpu < model.gpu.count; ++gpu) {
    if (model.gpu.kernel_overlap > 0) kernel_paths_.push_back(engine.add_resource(model.gpu.kernel_overlap));
  }
  for (int domain = 0; domain < model.cpu.domains; ++domain) {
    cpu_memory_.push_back(engine.add_resource(1));
  }
  clocks_.resize(processors_.size(), 1);
  for (int gpu = 0; gpu < model.gpu.count; ++gpu)
    if (const Fault* fault = faults.find(Fault::Kind::throttle, "gpu" + std::to_string(gpu)))
      clocks_[at(gpu)] = fault->part;
  for (const Fault& fault : faults.all()) {
    if (fault.kind == Fault::Kind::slow) router_.weaken(fault.a, fault.b, fault.part);
    if (fault.kind == Fault::Kind::down) router_.weaken(fault.a, fault.b, 0);
    if (fault.kind == Fault::Kind::link_fails) failing_.push_back(fault);
  }
}

Place Costs::memory_of(Place place) const {
  if (model_->host_access && place.kind == cpu && place.index < model_->gpu.count) return {gpu, place.index};
  return place;
}

void Costs::cross(Flow& flow, Place from, Place to, double efficiency, double both) {
  const Route& way = router_.between(from, to);
  if (!way.found)
    throw Failure(Code::no_peer_access, "no link leads from " + name_of(from) + " to " + name_of(to));
  if (both <= 0) both = efficiency;
  if (way.through_gpu) {
    efficiency *= model_->gpu.routed_efficiency;
    both *= model_->gpu.routed_efficiency;
  }
  for (const Hop& hop : way.hops) {
    if (!failing_.empty()) count_crossing(hop);
    flow.demands.push_back({hop.resource, 1 / efficiency});
    if (hop.both_directions >= 0) flow.demands.push_back({hop.both_directions, 1 / both});
  }
  if (way.hops.size() == 2 && way.hops.front().switch_blocking > 0) {
    flow.enters = way.hops.front().resource;
    flow.leaves = way.hops.back().resource;
    flow.blocking = way.hops.front().switch_blocking;
  }
}

void Costs::count_crossing(const Hop& hop) {
  for (Fault& link : failing_) {
    const bool same = (hop.from == link.a && hop.to == link.b) || (hop.from == link.b && hop.to == link.a);
    if (!same) continue;
    if (link.number > 0) {
      --link.number;
      continue;
    }
    failed_link_ = "the link between " + link.a + " and " + link.b + " has failed (fault)";
    throw Failure(Code::device_lost, failed_link_);
  }
}

void Costs::touch(Flow& flow, Place from, Place to) const {
  touch(flow, from, false);
  touch(flow, to, true);
}

// Reads and writes share a domain's channels: serving one excludes the other.
void Costs::touch(Flow& flow, Place memory, bool written) const {
  const std::size_t index = at(memory.index);
  if (memory.kind == gpu) return flow.demands.push_back({gpu_memory_[index], 1});
  const CpuModel& cores = model_->cpu;
  flow.demands.push_back(
      {cpu_memory_[index], 1 / (written ? cores.write_bytes_per_s : cores.read_bytes_per_s)});
}

void Costs::add(Operation& operation, const Transfer& transfer) {
  Transfer placed = transfer;
  placed.from = memory_of(transfer.from);
  placed.to = memory_of(transfer.to);
  placed.from_host = transfer.from.kind == cpu;
  if (transfer.executor.kind == gpu)
    add_gpu(operation, placed);
  else
    add_cores(operation, placed);
}

const RateModel& Costs::rate_of(const Transfer& transfer, bool local, bool host) const {
  std::string name(name_of(transfer.mechanism));
  if (local && transfer.mechanism == Mechanism::engine)  // between a GPU and the CPU that shares its memory
    name += transfer.from_host ? "-host-read" : "-host-write";
  else if (local)
    name += "-local";
  else
    name += std::string(host ? "-host" : "-peer") + (transfer.from == transfer.executor ? "-write" : "-read");
  const auto found = model_->rates.find(name);
  if (found == model_->rates.end() || found->second.efficiency <= 0)
    throw Failure(Code::not_supported, "the machine model has no [rates." + name + "]");
  return found->second;
}

void Costs::add_gpu(Operation& operation, const Transfer& transfer) {
  const Place here = transfer.executor;
  const bool local = transfer.from == here && transfer.to == here;
  const bool host = transfer.from.kind == cpu || transfer.to.kind == cpu;
  const RateModel& rate = rate_of(transfer, local, host);
  const bool by_kernel = transfer.mechanism != Mechanism::engine;
  const double clocks = by_kernel ? clocks_[at(here.index)] : 1;
  // Low clocks slow down work limited by multiprocessors; a link has its own clock.
  const double efficiency = rate.efficiency * transfer.part;
  operation.fixed += picoseconds(rate.fixed_ns / clocks);
  operation.bytes += transfer.bytes;
  Flow& flow = operation.flow;
  if (transfer.from == transfer.to && (local || !by_kernel)) {  // within one GPU
    flow.demands.push_back({gpu_memory_.at(at(transfer.from.index)), transfer.sides / (efficiency * clocks)});
  } else {
    if (by_kernel && !(transfer.from == here) && !(transfer.to == here)) {
      cross(flow, transfer.from, here, efficiency, rate.duplex_efficiency);
      cross(flow, here, transfer.to, efficiency, rate.duplex_efficiency);
    } else {
      cross(flow, transfer.from, transfer.to, efficiency, rate.duplex_efficiency);
    }
    touch(flow, transfer.from, transfer.to);
  }
  double cap = rate.cap_bytes_per_s;
  const double each = transfer.mechanism == Mechanism::bulk ? model_->gpu.bulk_block_bytes_per_s
                      : by_kernel ? thread_rate(here, transfer.from, kBytesPerThread) * clocks
                                  : 0;
  const double most = transfer.threads * each;
  // A launch with all bytes in flight waits for them once, however few its threads are.
  if (most > 0 &&
      (transfer.mechanism == Mechanism::bulk || transfer.bytes > transfer.threads * kBytesPerThread))
    cap = cap > 0 ? std::min(cap, most) : most;
  flow.cap = cap;
  if (by_kernel) {
    operation.processors = processors(here.index);
    if (transfer.mechanism == Mechanism::kernel) share_path(flow, here.index);
  } else {
    take_engine(operation, here.index, !host, transfer.engine);
  }
}

double Costs::thread_rate(Place executor, Place from, double in_flight) {
  if (model_->gpu.thread_bytes_per_s > 0) return model_->gpu.thread_bytes_per_s;
  constexpr double kBeyondCaches = 1e18;  // bytes of a working set that no cache holds
  return in_flight / latency_ns(executor, from, kBeyondCaches) * 1e9;
}

void Costs::share_path(Flow& flow, int gpu) const {
  if (kernel_paths_.empty()) return;
  double alone = std::numeric_limits<double>::infinity();  // bytes/s of the route
  for (const Demand& demand : flow.demands)
    alone = std::min(alone, engine_->capacity(demand.resource) / demand.weight);
  if (alone > 0) flow.demands.push_back({kernel_paths_[at(gpu)], 1 / alone});
}

void Costs::take_engine(Operation& operation, int gpu, bool for_peer, int chosen) {
  operation.pools.push_back(engines_[at(gpu)]);
  if (for_peer) operation.pools.push_back(peer_engines_[at(gpu)]);
  if (chosen < 0) return;
  const auto [pool, is_new] = chosen_engines_.try_emplace({gpu, chosen});
  if (is_new) pool->second = engine_->add_pool(1);
  operation.pools.push_back(pool->second);
}

void Costs::add_cores(Operation& operation, const Transfer& transfer) {
  const CpuModel& cores = model_->cpu;
  const Place here = memory_of(transfer.executor);
  const bool remote = !(transfer.from == here) || !(transfer.to == here);
  const bool streams = transfer.mechanism == Mechanism::streaming_core;
  double each = remote    ? cores.core_remote_bytes_per_s
                : streams ? cores.core_stream_bytes_per_s
                          : cores.core_copy_bytes_per_s;
  bool cached = false;
  for (std::size_t level = cores.caches.size(); level-- > 0 && transfer.cached_bytes > 0 && !streams;)
    if (transfer.cached_bytes <= static_cast<double>(cores.caches[level].bytes)) {
      each = std::max(each, cores.caches[level].copy_bytes_per_s);
      cached = true;
    }
  if (remote && !cached) each *= transfer.part;
  operation.bytes += transfer.bytes;
  operation.flow.cap = each * std::max(1.0, transfer.threads);
  if (cached) return;
  touch(operation.flow, transfer.from, transfer.to);
  // Cores reach the memory of an APU by their own share of it, which all actors on the domain have together.
  if (model_->host_access)
    operation.flow.demands.push_back({cpu_memory_.at(at(transfer.executor.index)),
                                      1 / cores.read_bytes_per_s + 1 / cores.write_bytes_per_s});
  for (const auto& [from, to] : {std::pair{transfer.from, here}, std::pair{here, transfer.to}})
    if (!(from == to)) cross(operation.flow, from, to, 1);
}

void Costs::add_staged(Operation& operation, Place executor, bool to_gpu, Place host, double bytes) {
  const std::vector<StagingStep>& steps = to_gpu ? model_->staging_to : model_->staging_from;
  const auto step = std::find_if(steps.begin(), steps.end(), [&](const StagingStep& each) {
    return each.up_to_bytes == 0 || bytes <= static_cast<double>(each.up_to_bytes);
  });
  operation.fixed += picoseconds(step->fixed_ns);
  operation.bytes += bytes;
  operation.flow.cap = step->bytes_per_s;
  const Place near = memory_of(host), device = memory_of(executor);
  if (!(near == device)) cross(operation.flow, to_gpu ? near : device, to_gpu ? device : near, 1);
  touch(operation.flow, to_gpu ? near : device, to_gpu ? device : near);
}

void Costs::add_network(Operation& operation, Place from, Place to, double bytes) {
  operation.fixed += picoseconds(model_->network_latency_ns);
  operation.bytes += bytes;
  const Place near = memory_of(from), far = memory_of(to);
  cross(operation.flow, near, far, model_->network_efficiency);
  touch(operation.flow, near, far);
}

double Costs::latency_ns(Place executor, Place owner, double bytes) {
  const Place memory = memory_of(owner), here = memory_of(executor);
  // A chase uses a fixed order: with more lines than fit, each has left the cache when it is needed again.
  const auto step = [bytes](double cache_bytes, double hit, double miss) {
    return bytes <= cache_bytes ? hit : miss;
  };
  if (executor.kind == gpu) {
    const GpuModel& device = model_->gpu;
    if (memory == here) {
      const double beyond =
          step(static_cast<double>(device.cache_bytes), device.cache_latency_ns, device.memory_latency_ns);
      return step(static_cast<double>(device.l2_bytes), device.l2_latency_ns, beyond) /
             clocks_[at(executor.index)];
    }
    // On an APU memory of a CPU is that of a GPU, whoever asks.
    const double hops_ns = forwarders(router_.between(here, memory)) * device.hop_latency_ns;
    if (memory.kind == cpu) return device.host_latency_ns + hops_ns;
    const bool far = device.peer_span_bytes > 0 && bytes > static_cast<double>(device.peer_span_bytes);
    return (far ? device.peer_far_latency_ns : device.peer_latency_ns) + hops_ns;
  }
  const CpuModel& cores = model_->cpu;
  double latency = memory == here ? cores.memory_latency_ns : cores.remote_latency_ns;
  for (std::size_t level = cores.caches.size(); level-- > 0;)
    latency = step(static_cast<double>(cores.caches[level].bytes), cores.caches[level].latency_ns, latency);
  return latency;
}

double Costs::scattered_rate(Place core, Place owner, double bytes) {
  // Assumed: misses that a core has at once. Ten to sixteen line-fill buffers (Intel 64 and IA-32
  // Architectures Optimization Reference Manual), 22 or more miss-address buffers (AMD Zen 2 and later).
  constexpr double kCoreMisses = 12;
  return kCoreMisses * static_cast<double>(kLineBytes) / latency_ns(core, owner, bytes) * 1e9;
}

void Costs::add_walk(Operation& operation, Place executor, Place owner, double bytes, double steps,
                     bool ordinary) {
  const GpuModel& device = model_->gpu;
  // It has lines of any owner: only system scope says that they must come from there.
  if (ordinary && executor.kind == gpu && bytes <= static_cast<double>(device.l1_bytes)) {
    operation.fixed += picoseconds(device.l1_latency_ns / clocks_[at(executor.index)] * steps);
    return;
  }
  const double step_ns = latency_ns(executor, owner, bytes);
  const Place memory = memory_of(owner);
  const bool host = memory.kind == cpu;
  const double wait_ns = host ? model_->cpu.memory_wait_ns : model_->gpu.memory_wait_ns;
  const std::uint64_t cache_bytes = host ? model_->cpu.last_cache_bytes() : model_->gpu.cache_bytes;
  if (wait_ns == 0 || bytes <= static_cast<double>(cache_bytes)) {
    operation.fixed += picoseconds(step_ns * steps);
    return;
  }
  operation.bytes += steps;
  operation.flow.cap = 1e9 / step_ns;
  operation.flow.waits_at = host ? cpu_memory_[at(memory.index)] : gpu_memory_[at(memory.index)];
  operation.flow.waits = wait_ns / step_ns;
}

// Latency of loading a word that `other` also accesses. Cores find it in their last common cache, not in a
// private one; across domains and in a GPU's memory the route determines it.
double Costs::word_latency_ns(Place executor, Place owner, Place other) {
  if (executor.kind == gpu) return latency_ns(executor, owner, kWordBytes);
  const CpuModel& cores = model_->cpu;
  const bool near = memory_of(owner) == memory_of(executor) &&
                    (other.kind == gpu || memory_of(other) == memory_of(executor));
  if (!near) return cores.remote_latency_ns;
  return cores.caches.empty() ? cores.memory_latency_ns : cores.caches.back().latency_ns;
}

// A store travels one way, a load both ways. On average, the poll that finds the word started half a poll
// after its arrival and takes another half to return: one poll in total.
double Costs::hand_over_ns(Place writer, Place poller, Place owner) {
  return 0.5 * word_latency_ns(writer, owner, poller) + word_latency_ns(poller, owner, writer);
}

double Costs::launch_ns(Place executor, unsigned blocks) const {
  if (executor.kind == cpu) return blocks > 1 ? model_->cpu.team_ns : model_->calls.clock_ns;  // a short call
  const auto found = model_->rates.find("kernel-local");
  double fixed_ns = model_->calls.empty_kernel_ns;
  if (fixed_ns <= 0)
    fixed_ns = found == model_->rates.end() ? model_->calls.launch_ns : found->second.fixed_ns;
  return fixed_ns / clocks_[at(executor.index)];
}

double Costs::arithmetic_ns(Place executor, double each, double items, double blocks) const {
  if (executor.kind == cpu) return each / model_->cpu.core_multiply_adds_per_s * 1e9;
  const double busy = std::min(1.0, blocks / model_->gpu.multiprocessors);
  return each * items / (model_->gpu.multiply_adds_per_s * busy * clocks_[at(executor.index)]) * 1e9;
}

void Costs::add_migration(Operation& operation, Place from, Place to, double bytes, bool prefetch) {
  const ManagedModel& managed = model_->managed;
  const bool between_gpus = from.kind == gpu && to.kind == gpu;
  double fixed_ns = prefetch ? managed.prefetch_ns : managed.fault_ns;
  const double peer_ns = prefetch ? managed.prefetch_peer_ns : managed.fault_peer_ns;
  if (between_gpus && peer_ns > 0) fixed_ns = peer_ns;
  Stage stage{picoseconds(fixed_ns), bytes, {}};
  if (between_gpus)
    stage.flow.cap = prefetch ? managed.prefetch_peer_bytes_per_s : managed.peer_bytes_per_s;
  else if (to.kind == gpu)
    stage.flow.cap = prefetch ? managed.prefetch_to_gpu_bytes_per_s : managed.to_gpu_bytes_per_s;
  else
    stage.flow.cap = prefetch ? managed.prefetch_to_host_bytes_per_s : managed.to_host_bytes_per_s;
  if (stage.flow.cap <= 0)
    throw Failure(Code::not_supported,
                  "the machine model moves no managed pages from " + name_of(from) + " to " + name_of(to));
  const Place here = memory_of(from), there = memory_of(to);
  const auto engine = model_->rates.find(between_gpus     ? "engine-peer-write"
                                         : to.kind == gpu ? "engine-host-read"
                                                          : "engine-host-write");
  const bool known = engine != model_->rates.end() && engine->second.efficiency > 0;
  cross(stage.flow, here, there, known ? engine->second.efficiency : 1);
  touch(stage.flow, here, there);
  std::vector<Stage>& before = operation.before;
  // All pages take the same routes, so one flow per route is sufficient.
  if (!before.empty() && before.back().flow.demands == stage.flow.demands &&
      before.back().flow.cap == stage.flow.cap) {
    before.back().fixed += stage.fixed;
    before.back().bytes += stage.bytes;
  } else {
    before.push_back(std::move(stage));
  }
}

}  // namespace byteways::sim
