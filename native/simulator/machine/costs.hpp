// Cost model of transfers on the simulated machine: the fixed time of an operation, and the load of its flow
// on links, memories and engines. Nothing here moves data.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/engine/engine.hpp"
#include "simulator/machine/faults.hpp"
#include "simulator/machine/model.hpp"
#include "simulator/machine/routes.hpp"

namespace byteways::sim {

// Memory and links transfer whole lines: the cost of touching a single word.
inline constexpr std::uint64_t kLineBytes = 64;

// Hardware that moves the bytes: kernel threads, bulk-copy instructions, a copy engine, a kernel of the
// runtime (blit); CPU cores with ordinary stores, or with non-temporal stores.
enum class Mechanism { kernel, bulk, engine, blit, core, streaming_core };

// Cost parameters of one operation that moves bytes.
struct Transfer {
  Mechanism mechanism;
  Place executor, from, to;
  double bytes = 0;
  int sides = 2;            // local: the memory is read and written (2), or only one of them (1)
  double threads = 0;       // kernel: threads of the launch; bulk: blocks; cores: threads of the team
  double cached_bytes = 0;  // cores: working set that stays in caches between operations, 0: none
  double part = 1;          // fraction of the model's efficiency for this path
  int engine = -1;          // engine: the requested one, -1: any free one
  bool from_host = false;   // the bytes belong to a CPU, also if it shares memory with a GPU; set by Costs
};

// One pass of a kernel over several arrays at once.
struct Pass {
  Place executor;
  std::vector<Place> reads;  // places of the arrays that are read; `write` is that of the written one
  Place write;
  double bytes = 0;  // of one array
  double threads = 0;
  double cached_bytes = 0;  // cores: working set that stays in caches between passes, 0: none
  double part = 1;
};

class Costs {
 public:
  Costs(const Model& model, const Faults& faults, Engine& engine);

  // Adds fixed time, bytes, demands, cap and engines to the operation.
  void add(Operation& operation, const Transfer& transfer);
  void add(Operation& operation, const Pass& pass);
  // Adds a copy of plain host memory by the runtime.
  void add_staged(Operation& operation, Place executor, bool to_gpu, Place host, double bytes);
  // Adds bytes that NICs move between hosts, from memory to memory.
  void add_network(Operation& operation, Place from, Place to, double bytes);
  const Model& model() const { return *model_; }
  // Adds a pointer chase of `steps` dependent loads over `bytes` of `owner`'s memory. Loads that reach a
  // GPU's memory take longer the more of its bandwidth others use. `ordinary`: loads that a GPU's L1 serves.
  void add_walk(Operation& operation, Place executor, Place owner, double bytes, double steps,
                bool ordinary = false);
  // Returns the time of one dependent load over `bytes` of `owner`'s memory, in ns.
  double latency_ns(Place executor, Place owner, double bytes);
  // Returns the bytes/s that a core moves of scattered lines in `bytes` of `owner`'s memory.
  double scattered_rate(Place core, Place owner, double bytes);
  // Returns the time until `poller` sees a store of `writer` to `owner`'s memory, in ns.
  double hand_over_ns(Place writer, Place poller, Place owner);
  // Returns the time of an empty kernel behind another, in ns; for a CPU, with a team of `blocks` threads.
  double launch_ns(Place executor, unsigned blocks) const;
  // Returns the time in ns of `items` that each do `each` dependent multiply-adds, in `blocks` blocks or on
  // that many cores.
  double arithmetic_ns(Place executor, double each, double items, double blocks) const;
  // Adds a migration of managed pages before the operation itself: a fixed time, and a flow over the links
  // that copy engines use as well.
  void add_migration(Operation& operation, Place from, Place to, double bytes, bool prefetch);
  int processors(int gpu) const { return processors_.at(static_cast<std::size_t>(gpu)); }
  Router& router() { return router_; }
  // Returns the place that owns the memory: on an APU, the GPU.
  Place memory_of(Place place) const;
  // What a transfer over a link that has failed is told, once there was one.
  const std::string& failed_link() const { return failed_link_; }

 private:
  double word_latency_ns(Place executor, Place owner, Place other);
  void add_gpu(Operation& operation, const Transfer& transfer);
  void add_cores(Operation& operation, const Transfer& transfer);
  // Returns the maximum read rate of one thread of a copy kernel with `in_flight` bytes in flight, in
  // bytes/s.
  double thread_rate(Place executor, Place from, double in_flight);
  void add_pass_of_gpu(Operation& operation, const Pass& pass);
  void add_pass_of_cores(Operation& operation, const Pass& pass);
  const RateModel& rate_of(const Transfer& transfer, bool local, bool host) const;
  // `both`: efficiency of a link's two directions together, 0: that of one.
  void cross(Flow& flow, Place from, Place to, double efficiency, double both = 0);
  void count_crossing(const Hop& hop);                 // of a link that is to fail
  void touch(Flow& flow, Place from, Place to) const;  // adds the memories at both ends
  void touch(Flow& flow, Place memory, bool written) const;
  // A kernel takes the part of its GPU's path that its bytes take of the time in which its way moves them.
  void share_path(Flow& flow, int gpu) const;
  void take_engine(Operation& operation, int gpu, bool for_peer, int chosen);

  const Model* model_;
  Engine* engine_;
  Router router_;
  std::vector<int> gpu_memory_;                        // resources, in bytes/s
  std::vector<int> cpu_memory_;                        // resources, in seconds a second
  std::vector<int> kernel_paths_;                      // resources of GPUs whose kernels share a path
  std::vector<int> engines_, peer_engines_;            // pools
  std::map<std::pair<int, int>, int> chosen_engines_;  // pools of one, by GPU and number
  std::vector<int> processors_;
  std::vector<Fault> failing_;  // links that fail, and after how many transfers
  std::string failed_link_;
  std::vector<double> clocks_;  // of each GPU: part of the model's, below 1 when throttled
};

}  // namespace byteways::sim
