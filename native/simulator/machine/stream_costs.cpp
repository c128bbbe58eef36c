// Cost of a pass over several arrays (the STREAM kernels): each array uses its memory, and the links between
// there and the executor in its own direction, at the rates of a copy kernel's loads and stores.
#include <algorithm>

#include "interfaces/device/geometry.hpp"
#include "simulator/machine/common.hpp"
#include "simulator/machine/costs.hpp"

namespace byteways::sim {
namespace {

using enum Place::Kind;

constexpr double kBytesPerThread = kStreamInFlight * kAccessBytes;  // in flight, per array

double smaller(double cap, double other) {
  if (other <= 0) return cap;
  return cap > 0 ? std::min(cap, other) : other;
}

}  // namespace

void Costs::add(Operation& operation, const Pass& pass) {
  if (pass.executor.kind == gpu)
    add_pass_of_gpu(operation, pass);
  else
    add_pass_of_cores(operation, pass);
}

void Costs::add_pass_of_gpu(Operation& operation, const Pass& pass) {
  const Place here = pass.executor;
  const auto index = static_cast<std::size_t>(here.index);
  const double clocks = clocks_[index];
  double fixed_ns = 0, local_cap = 0, local_arrays = 0, read_cap = 0, reads = 0, write_cap = 0;
  double thread_cap = 0;
  Flow& flow = operation.flow;
  const auto add_array = [&](Place owner, bool written) {
    const Place there = memory_of(owner);
    const Transfer transfer{Mechanism::kernel, here, written ? here : there, written ? there : here};
    const bool local = there == here;
    const RateModel& rate = rate_of(transfer, local, there.kind == cpu);
    const double efficiency = rate.efficiency * pass.part;
    fixed_ns = std::max(fixed_ns, rate.fixed_ns / clocks);
    if (!written)
      thread_cap = smaller(thread_cap, pass.threads * thread_rate(here, there, kBytesPerThread) * clocks);
    if (local) {
      flow.demands.push_back({gpu_memory_[index], 1 / (efficiency * clocks)});
      local_cap = rate.cap_bytes_per_s;
      ++local_arrays;
      return;
    }
    cross(flow, transfer.from, transfer.to, efficiency, rate.duplex_efficiency);
    touch(flow, there, written);
    (written ? write_cap : read_cap) = rate.cap_bytes_per_s;
    if (!written) ++reads;
  };
  for (const Place& owner : pass.reads) add_array(owner, false);
  add_array(pass.write, true);
  operation.fixed += picoseconds(fixed_ns);
  operation.bytes += pass.bytes;
  double cap = write_cap;
  if (reads > 0) cap = smaller(cap, read_cap / reads);
  if (local_arrays > 0) cap = smaller(cap, 2 * local_cap / local_arrays);  // the model's rate is for a copy
  // A launch with all bytes in flight waits for them once, however few its threads are.
  if (pass.bytes > pass.threads * kBytesPerThread) cap = smaller(cap, thread_cap);
  flow.cap = cap;
  operation.processors = processors(here.index);
  share_path(flow, here.index);
}

void Costs::add_pass_of_cores(Operation& operation, const Pass& pass) {
  const CpuModel& cores = model_->cpu;
  const Place here = memory_of(pass.executor);
  std::vector<Place> arrays;
  for (const Place& place : pass.reads) arrays.push_back(memory_of(place));
  arrays.push_back(memory_of(pass.write));
  const bool remote =
      std::any_of(arrays.begin(), arrays.end(), [&](Place there) { return !(there == here); });
  double each = remote ? cores.core_remote_bytes_per_s : cores.core_copy_bytes_per_s;
  bool cached = false;
  for (std::size_t level = cores.caches.size(); level-- > 0 && pass.cached_bytes > 0;)
    if (pass.cached_bytes <= static_cast<double>(cores.caches[level].bytes)) {
      each = std::max(each, cores.caches[level].copy_bytes_per_s);
      cached = true;
    }
  operation.bytes += pass.bytes;
  // A core's rate is that of a copy, which reads and writes: with more arrays each gets less.
  operation.flow.cap = 2 * each / static_cast<double>(arrays.size()) * std::max(1.0, pass.threads);
  if (cached) return;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    const Place there = arrays[k];
    const bool written = k + 1 == arrays.size();
    touch(operation.flow, there, written);
    if (model_->host_access)  // cores have their own share of an APU's memory
      operation.flow.demands.push_back({cpu_memory_.at(static_cast<std::size_t>(pass.executor.index)),
                                        1 / (written ? cores.write_bytes_per_s : cores.read_bytes_per_s)});
    if (!(there == here)) cross(operation.flow, written ? here : there, written ? there : here, 1);
  }
}

}  // namespace byteways::sim
