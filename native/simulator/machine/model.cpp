// See model.hpp: parses a machine sheet into a Model.
#include "simulator/machine/model.hpp"

#include <algorithm>
#include <stdexcept>

#include "simulator/machine/model_parser.hpp"

namespace byteways::sim {
namespace {

std::string at(const std::string& prefix, int index) { return prefix + "." + std::to_string(index); }

void read_links(ModelParser& sheet, Model& model) {
  for (int group = 0; group < sheet.count("links"); ++group) {
    const std::string key = at("links", group);
    LinkModel link;
    link.kind = sheet.text(key + ".kind");
    link.width = sheet.integer(key + ".width");
    link.peak_bytes_per_s = sheet.number(key + ".peak_bytes_per_s");
    link.duplex_bytes_per_s = sheet.number(key + ".duplex_bytes_per_s");
    for (int pair = 0; pair < sheet.count(key + ".pairs"); ++pair) {
      const std::string ends = sheet.text(at(key + ".pairs", pair));
      const std::size_t dash = ends.find('-');
      if (dash == std::string::npos)
        throw std::invalid_argument("machine sheet, '" + at(key + ".pairs", pair) + "': '" + ends +
                                    "' is no pair such as gpu0-gpu1");
      link.a = ends.substr(0, dash);
      link.b = ends.substr(dash + 1);
      model.links.push_back(link);
    }
  }
}

void read_gpu(ModelParser& sheet, GpuModel& gpu) {
  gpu.count = sheet.integer("gpu.count");
  gpu.name = sheet.text("gpu.name");
  gpu.architecture = sheet.text("gpu.architecture");
  gpu.multiprocessors = sheet.integer("gpu.multiprocessors");
  gpu.multiply_adds_per_s = sheet.number("gpu.multiply_adds_per_s");
  gpu.memory_bytes = sheet.whole("gpu.memory_bytes");
  gpu.cache_bytes = sheet.whole("gpu.cache_bytes");
  gpu.memory_bytes_per_s = sheet.number("gpu.memory_bytes_per_s");
  gpu.copy_engines = sheet.integer("gpu.copy_engines");
  gpu.peer_copy_engines = sheet.integer("gpu.peer_copy_engines");
  gpu.hardware_queues = sheet.integer("gpu.hardware_queues");
  gpu.resident_threads = sheet.number("gpu.resident_threads");
  gpu.kernel_overlap = sheet.number("gpu.kernel_overlap");
  gpu.queue_depth = static_cast<unsigned>(sheet.whole("gpu.queue_depth"));
  gpu.thread_bytes_per_s = sheet.number("gpu.thread_bytes_per_s");
  gpu.bulk_block_bytes_per_s = sheet.number("gpu.bulk_block_bytes_per_s");
  for (int index = 0; index < gpu.count; ++index) {
    gpu.domains.push_back(sheet.integer(at("gpu.domains", index)));
    gpu.pci_addresses.push_back(sheet.text(at("gpu.pci_addresses", index)));
  }
  gpu.l2_bytes = sheet.whole("gpu.l2_bytes");
  gpu.l2_latency_ns = sheet.number("gpu.l2_latency_ns");
  gpu.cache_latency_ns = sheet.number("gpu.cache_latency_ns");
  gpu.memory_latency_ns = sheet.number("gpu.memory_latency_ns");
  gpu.memory_wait_ns = sheet.number("gpu.memory_wait_ns");
  gpu.peer_latency_ns = sheet.number("gpu.peer_latency_ns");
  gpu.peer_span_bytes = sheet.whole("gpu.peer_span_bytes");
  gpu.peer_far_latency_ns = sheet.number("gpu.peer_far_latency_ns");
  gpu.hop_latency_ns = sheet.number("gpu.hop_latency_ns");
  gpu.host_latency_ns = sheet.number("gpu.host_latency_ns");
  gpu.routed_efficiency = sheet.number("gpu.routed_efficiency");
}

void read_cpu(ModelParser& sheet, CpuModel& cpu) {
  cpu.domains = sheet.integer("cpu.domains");
  cpu.cores = sheet.integer("cpu.cores");
  cpu.name = sheet.text("cpu.name");
  cpu.architecture = sheet.text("cpu.architecture");
  cpu.memory_bytes = sheet.whole("cpu.memory_bytes");
  cpu.read_bytes_per_s = sheet.number("cpu.read_bytes_per_s");
  cpu.write_bytes_per_s = sheet.number("cpu.write_bytes_per_s");
  cpu.core_copy_bytes_per_s = sheet.number("cpu.core_copy_bytes_per_s");
  cpu.core_stream_bytes_per_s = sheet.number("cpu.core_stream_bytes_per_s");
  cpu.call_ns = sheet.number("cpu.call_ns");
  cpu.team_ns = sheet.number("cpu.team_ns");
  cpu.core_multiply_adds_per_s = sheet.number("cpu.core_multiply_adds_per_s");
  cpu.core_remote_bytes_per_s = sheet.number("cpu.core_remote_bytes_per_s");
  cpu.gpu_touched_part = sheet.number("cpu.gpu_touched_part");
  for (int level = 0; level < sheet.count("cpu.caches"); ++level) {
    const std::string key = at("cpu.caches", level);
    cpu.cache_bytes.push_back(sheet.whole(key + ".bytes"));
    cpu.cache_latency_ns.push_back(sheet.number(key + ".latency_ns"));
    cpu.cache_copy_bytes_per_s.push_back(sheet.number(key + ".copy_bytes_per_s"));
  }
  cpu.memory_latency_ns = sheet.number("cpu.memory_latency_ns");
  cpu.remote_latency_ns = sheet.number("cpu.remote_latency_ns");
  cpu.memory_wait_ns = sheet.number("cpu.memory_wait_ns");
}

void read_managed(ModelParser& sheet, ManagedModel& managed) {
  managed.kernels_migrate = sheet.truth("managed.kernels_migrate");
  managed.remote_efficiency = sheet.number("managed.remote_efficiency");
  managed.fault_ns = sheet.number("managed.fault_ns");
  managed.fault_peer_ns = sheet.number("managed.fault_peer_ns");
  managed.to_gpu_bytes_per_s = sheet.number("managed.to_gpu_bytes_per_s");
  managed.to_host_bytes_per_s = sheet.number("managed.to_host_bytes_per_s");
  managed.peer_bytes_per_s = sheet.number("managed.peer_bytes_per_s");
  managed.prefetch_ns = sheet.number("managed.prefetch_ns");
  managed.prefetch_peer_ns = sheet.number("managed.prefetch_peer_ns");
  managed.prefetch_to_gpu_bytes_per_s = sheet.number("managed.prefetch_to_gpu_bytes_per_s");
  managed.prefetch_to_host_bytes_per_s = sheet.number("managed.prefetch_to_host_bytes_per_s");
  managed.prefetch_peer_bytes_per_s = sheet.number("managed.prefetch_peer_bytes_per_s");
}

std::vector<StagingStep> read_staging(ModelParser& sheet, const std::string& prefix) {
  std::vector<StagingStep> steps;
  for (int index = 0; index < sheet.count(prefix); ++index) {
    const std::string key = at(prefix, index);
    steps.push_back({sheet.whole(key + ".up_to_bytes"), sheet.number(key + ".fixed_ns"),
                     sheet.number(key + ".bytes_per_s")});
  }
  if (steps.empty() || steps.back().up_to_bytes != 0)
    throw std::invalid_argument("machine sheet, '" + prefix +
                                "': the last step must be for all larger sizes");
  return steps;
}

void read_calls(ModelParser& sheet, CallModel& calls) {
  calls.enqueue_ns = sheet.number("calls.enqueue_ns");
  calls.synchronize_ns = sheet.number("calls.synchronize_ns");
  calls.query_ns = sheet.number("calls.query_ns");
  calls.clock_ns = sheet.number("calls.clock_ns");
  calls.event_ns = sheet.number("calls.event_ns");
  calls.launch_ns = sheet.number("calls.launch_ns");
}

void read_memory(ModelParser& sheet, MemoryModel& memory) {
  memory.call_ns = sheet.number("memory.call_ns");
  memory.page_ns = sheet.number("memory.page_ns");
  memory.lock_page_ns = sheet.number("memory.lock_page_ns");
  memory.granule_ns = sheet.number("memory.granule_ns");
  memory.release_part = sheet.number("memory.release_part");
}

void read_mpi(ModelParser& sheet, MpiModel& mpi) {
  mpi.eager_bytes = sheet.whole("mpi.eager_bytes");
  mpi.send_ns = sheet.number("mpi.send_ns");
  mpi.receive_ns = sheet.number("mpi.receive_ns");
  mpi.handshake_ns = sheet.number("mpi.handshake_ns");
  mpi.ipc_from_bytes = sheet.whole("mpi.ipc_from_bytes");
  mpi.core_device_bytes_per_s = sheet.number("mpi.core_device_bytes_per_s");
  mpi.ipc_core_bytes = sheet.whole("mpi.ipc_core_bytes");
  mpi.ipc_core_ns = sheet.number("mpi.ipc_core_ns");
  mpi.copy_ns = sheet.number("mpi.copy_ns");
  mpi.core_reductions = sheet.truth("mpi.core_reductions");
  mpi.engine_ns = sheet.number("mpi.engine_ns");
  mpi.engine_system_part = sheet.number("mpi.engine_system_part");
  mpi.registration_ns = sheet.number("mpi.registration_ns");
  mpi.registers_once = sheet.truth("mpi.registers_once");
  mpi.staging_bytes = sheet.whole("mpi.staging_bytes");
  mpi.gpu_aware = sheet.truth("mpi.gpu_aware");
  mpi.ipc_by_engine = sheet.truth("mpi.ipc_by_engine");
}

void read_xccl(ModelParser& sheet, XcclModel& xccl) {
  xccl.channels = static_cast<unsigned>(sheet.whole("xccl.channels"));
  xccl.ll_step_ns = sheet.number("xccl.ll_step_ns");
  xccl.simple_step_ns = sheet.number("xccl.simple_step_ns");
  xccl.call_ns = sheet.number("xccl.call_ns");
  xccl.ll_efficiency = sheet.number("xccl.ll_efficiency");
  xccl.simple_efficiency = sheet.number("xccl.simple_efficiency");
}

}  // namespace

const LinkModel* Model::link_between(const std::string& a, const std::string& b) const {
  for (const LinkModel& link : links)
    if ((link.a == a && link.b == b) || (link.a == b && link.b == a)) return &link;
  return nullptr;
}

Model Model::from_sheet(std::string_view text) {
  ModelParser sheet(text);
  Model model;
  model.name = sheet.text("name");
  model.vendor = sheet.text("vendor");
  model.runtime_version = sheet.integer("runtime_version");
  model.hosts = std::max(1, sheet.integer("hosts"));
  model.network_latency_ns = sheet.number("network_latency_ns");
  model.network_efficiency = sheet.number("network_efficiency");
  model.noise = sheet.number("noise");
  model.seed = sheet.whole("seed");
  model.pageable_access = sheet.truth("features.pageable_access");
  model.host_access = sheet.truth("features.host_access");
  model.gpu_domains = sheet.truth("features.gpu_domains");
  model.managed_memory = sheet.truth("features.managed_memory");
  read_gpu(sheet, model.gpu);
  read_cpu(sheet, model.cpu);
  read_links(sheet, model);
  read_managed(sheet, model.managed);
  model.staging_to = read_staging(sheet, "staging.to");
  model.staging_from = read_staging(sheet, "staging.from");
  read_calls(sheet, model.calls);
  read_memory(sheet, model.memory);
  read_mpi(sheet, model.mpi);
  read_xccl(sheet, model.xccl);
  for (const std::string& name : sheet.names("rates")) {
    const std::string key = "rates." + name;
    model.rates[name] = {sheet.number(key + ".fixed_ns"), sheet.number(key + ".efficiency"),
                         sheet.number(key + ".cap_bytes_per_s"), sheet.number(key + ".duplex_efficiency")};
  }
  for (int index = 0; index < sheet.count("faults"); ++index)
    model.faults.push_back(sheet.text(at("faults", index)));
  sheet.refuse_unread();
  return model;
}

}  // namespace byteways::sim
