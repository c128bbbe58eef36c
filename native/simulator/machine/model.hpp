// A machine model as the simulator reads it. Its input is a sheet: one `key<TAB>value` line a number, the
// machine file (src/byteways/simulate/*.toml) without sources and with tables flattened by dots,
// so that a key here is the path of the same number in the file. Units are in the names. A key that is
// missing or that nothing reads is an error: a typing mistake must not become a default. Every key is there,
// with 0 where the file may leave it out; truth is 1 or 0; a list of one kind has its index as the last part.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace byteways::sim {

// A device: NUMA domain or GPU number `index`.
struct Place {
  enum class Kind { cpu, gpu } kind = Kind::cpu;
  int index = 0;
  auto operator<=>(const Place&) const = default;
};

// [links.N]: bundles of equal links, `pairs.M` = "gpu0-gpu1" or "gpu0-nvswitch"; each pair is one bundle with
// the same capacity in both directions.
struct LinkModel {
  std::string a, b;               // "gpu0", "cpu1", "nvswitch"
  std::string kind;               // "xgmi", "nvlink", "pcie", "numa"
  int width = 1;                  // links in the bundle
  double peak_bytes_per_s = 0;    // nominal, one direction, whole bundle
  double duplex_bytes_per_s = 0;  // both directions together; 0: each direction for itself
};

// [rates.<interface>-<where>-<access>]: cost of one operation of an interface on one kind of path.
//   interface  kernel, bulk, engine (a copy by a copy engine), blit (a copy by a kernel of the runtime's)
//   where      local (one GPU), peer (GPU and GPU), host (GPU and CPU memory)
//   access     read, write from the executor's side; local has none: [rates.kernel-local]
struct RateModel {
  double fixed_ns = 0;    // before the first byte moves, every operation, also back to back
  double efficiency = 0;  // payload over nominal peak on every link crossed; local: over the memory's peak,
                          // read and write counted
  double cap_bytes_per_s = 0;    // payload one operation can reach whatever the links give; 0: none
  double duplex_efficiency = 0;  // payload over what a link's two directions share; 0: as `efficiency`
};

// [gpu]: all GPUs of a model are alike.
struct GpuModel {
  int count = 0;
  std::string name, architecture;  // "AMD Instinct MI250X", "gfx90a:sramecc+:xnack-", "sm_90"
  int multiprocessors = 0;
  double multiply_adds_per_s = 0;                   // in single precision, by all multiprocessors together
  std::uint64_t memory_bytes = 0, cache_bytes = 0;  // of one GPU; last-level cache
  double memory_bytes_per_s = 0;                    // nominal, read and write shared
  int copy_engines = 0;                             // operations of copy engines that run at once
  int peer_copy_engines = 0;    // of them, copies to or from peers that one GPU issues at once
  int hardware_queues = 0;      // streams beyond it wait for each other
  double resident_threads = 0;  // a kernel waits until half of the threads it needs are free; 0: no waiting
  // Kernels of one GPU share its path to memory, where those that wait for a slow way hold up the others: the
  // parts of their own times that they need of it add up to this much. 0: each has a path of its own.
  double kernel_overlap = 0;
  unsigned queue_depth = 0;  // operations a stream takes before an enqueueing call blocks
  // What one thread of a copying kernel, and one block of the bulk-copy kernel, moves at most. 0: the
  // thread's bytes in flight over the latency of what it reads (Little's law); of a block, no limit.
  double thread_bytes_per_s = 0, bulk_block_bytes_per_s = 0;
  std::vector<int> domains;                // NUMA domain of each GPU: gpu.domains.N
  std::vector<std::string> pci_addresses;  // gpu.pci_addresses.N
  std::uint64_t l2_bytes = 0;  // of the die that chases, below a last-level cache of all dies; 0: none
  double l2_latency_ns = 0;
  double cache_latency_ns = 0, memory_latency_ns = 0;  // chase: working set within cache_bytes, or beyond
  // chase: what a load waits more in a GPU's memory when others use all of it, and falling with the
  // cube of the part they use: copies that take 8 % of an H200's memory add 0.8 ns (examples/h200x2)
  double memory_wait_ns = 0;
  double peer_latency_ns = 0, hop_latency_ns = 0;  // chase: one link away; every further link
  // chase: one link away, of a working set beyond so many bytes; 0: all alike
  std::uint64_t peer_span_bytes = 0;
  double peer_far_latency_ns = 0;
  double host_latency_ns = 0;    // chase: CPU memory of the near domain
  double routed_efficiency = 1;  // of the rate of a way that leads through another GPU
};

// [cpu]: all NUMA domains of a model are alike.
struct CpuModel {
  int domains = 0, cores = 0;  // cores of one domain
  std::string name, architecture;
  std::uint64_t memory_bytes = 0;  // of one domain
  double read_bytes_per_s = 0,
         write_bytes_per_s = 0;         // of one domain's memory, when all of it reads or writes
  double core_copy_bytes_per_s = 0;     // memcpy of one core between buffers in memory
  double core_stream_bytes_per_s = 0;   // with non-temporal stores, which pass the caches
  double core_multiply_adds_per_s = 0;  // in single precision, one after another
  double call_ns = 0;                   // a copy of one core, before its first byte moves
  double team_ns = 0;                   // several cores: to begin and to end one copy together
  double core_remote_bytes_per_s = 0;   // memcpy of one core when either side is another domain's
  // Part of that where a GPU was the first to touch memory of malloc, or of the GPU's allocator; 0: all
  double gpu_touched_part = 0;
  std::vector<std::uint64_t> cache_bytes;  // cpu.caches.N.bytes, ascending levels as one core sees them
  std::vector<double> cache_latency_ns;    // cpu.caches.N.latency_ns
  std::vector<double>
      cache_copy_bytes_per_s;  // cpu.caches.N.copy_bytes_per_s: warm memcpy that fits this level
  double memory_latency_ns = 0, remote_latency_ns = 0;
  double memory_wait_ns = 0;  // chase: as of the GPU, of what the domain's channels reach

  double begin_ns(unsigned cores_used) const { return cores_used > 1 ? team_ns : call_ns; }
};

// [managed]: migrating pages. "remote": kernels reach them where they are; "migrate": touching moves them
// first.
struct ManagedModel {
  bool kernels_migrate = true;
  double remote_efficiency =
      0;                     // of a kernel's rate on other memory, where it reaches pages that stay; 0: all
  double fault_ns = 0;       // once per operation that has to move pages
  double fault_peer_ns = 0;  // between GPUs; 0: as with the host
  double to_gpu_bytes_per_s = 0, to_host_bytes_per_s = 0, peer_bytes_per_s = 0;
  double prefetch_ns = 0, prefetch_peer_ns = 0;  // as above
  double prefetch_to_gpu_bytes_per_s = 0, prefetch_to_host_bytes_per_s = 0, prefetch_peer_bytes_per_s = 0;
};

// [staging.to.N], [staging.from.N]: the runtime's copies of pageable memory, by size; the last has no
// up_to_bytes.
struct StagingStep {
  std::uint64_t up_to_bytes = 0;  // 0: everything larger
  double fixed_ns = 0, bytes_per_s = 0;
};

// [calls]: host time of calls, and device time of events.
struct CallModel {
  double enqueue_ns = 0;                    // any call that enqueues
  double synchronize_ns = 0, query_ns = 0;  // beyond the wait
  double clock_ns = 0;                      // reading the clock
  double event_ns = 0;                      // an event's own time in the queue, between two that are timed
  double launch_ns = 0;  // from the call to the start of the first operation of an idle queue
};

// [memory]: host time of allocation.
struct MemoryModel {
  double call_ns = 0;       // a call of a GPU's runtime that changes what is mapped, beyond any page
  double page_ns = 0;       // allocating and zeroing a host page of 4 KiB
  double lock_page_ns = 0;  // locking it and mapping it for the GPUs
  double granule_ns = 0;    // allocating 2 MiB of GPU memory, or mapping them for another GPU
  double release_part = 0;  // time of freeing relative to allocating
};

// [mpi]: what the MPI library of the machine costs beyond the transfers it is made of.
struct MpiModel {
  std::uint64_t eager_bytes = 0;       // messages up to this size go through buffers of the library
  double send_ns = 0, receive_ns = 0;  // of the core's time, each message
  double handshake_ns = 0;             // a control message, one way, of a message beyond eager_bytes
  // Device memory. Shorter than this it goes through buffers of the library in host memory; 0: up to
  // eager_bytes. There the core reads and writes the GPU's memory at this rate; 0: copies of the GPU do.
  std::uint64_t ipc_from_bytes = 0;
  double core_device_bytes_per_s = 0;
  // From there the receiver opens the sender's memory: up to so many bytes its core copies, in a time that
  // hardly depends on the size; longer ones the GPU, each of whose copies takes copy_ns (0: as any other).
  std::uint64_t ipc_core_bytes = 0;
  double ipc_core_ns = 0, copy_ns = 0;
  // A copy by an engine, from its request to its end, beyond its bytes (0: copy_ns), and the part of the
  // engine's rate where the pages at either end are the system's and not those of a GPU's allocator (0: all).
  double engine_ns = 0, engine_system_part = 0;
  double registration_ns = 0;       // opening a buffer of another rank's GPU …
  bool registers_once = true;       // … the first time only, or each time
  std::uint64_t staging_bytes = 0;  // of a piece that is staged in host memory
  bool gpu_aware = false;           // takes device memory
  bool core_reductions = false;     // of an APU: cores sum device memory where no variable says otherwise
  bool ipc_by_engine = true;        // between GPUs: copies of engines, or of the runtime's kernels
};

// [xccl]: NCCL or RCCL beyond the transfers it is made of.
struct XcclModel {
  unsigned channels = 1;                      // blocks of its kernels
  double ll_step_ns = 0, simple_step_ns = 0;  // of a hop from GPU to GPU, by protocol
  // Part of a copy kernel's rate that a protocol has; of LL, with its flags.
  double ll_efficiency = 1, simple_efficiency = 1;
  double call_ns = 0;  // of the host's time, each launch on a stream
};

struct Model {
  std::string name, vendor;  // "amd", "nvidia"
  int runtime_version = 0;   // as the vendor's call returns it: 50422801, 13000
  // Equal hosts: their devices follow each other, and "nic" and "network" links join them. Only MPI sends
  // between hosts: what a message costs there beyond its bytes, and payload over the NICs' nominal rate.
  int hosts = 1;
  double network_latency_ns = 0, network_efficiency = 1;
  int host_of(Place place) const {
    const int each = (place.kind == Place::Kind::cpu ? cpu.domains : gpu.count) / hosts;
    return each > 0 ? place.index / each : 0;
  }
  LinkModel const* link_between(const std::string& a, const std::string& b) const;
  std::vector<LinkModel> links;
  std::map<std::string, RateModel, std::less<>> rates;
  GpuModel gpu;
  CpuModel cpu;
  ManagedModel managed;
  std::vector<StagingStep> staging_to, staging_from;
  CallModel calls;
  MemoryModel memory;
  MpiModel mpi;
  XcclModel xccl;
  bool pageable_access = false;  // features.*: kernels reach plain host memory
  bool gpu_domains = false;      // the system counts each GPU's memory as a NUMA domain (GH200)
  bool host_access = false;      // CPU cores reach device memory (an APU): cpuN and gpuN share one memory
  bool managed_memory = true;
  double noise = 0;  // scale of the relative delay of an operation (noise.hpp)
  std::uint64_t seed = 0;
  std::vector<std::string> faults;  // faults.N, as given on the command line (faults.hpp)

  // The NUMA domain of a GPU's memory, behind those of the CPUs, if there are any.
  int memory_domain(int index) const { return cpu.domains + index; }

  // Throws std::invalid_argument with the key and what is wrong with it.
  static Model from_sheet(std::string_view sheet);
};

}  // namespace byteways::sim
