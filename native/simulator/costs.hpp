// What moving bytes costs on the simulated machine: the fixed time of an operation, and what its flow takes
// of links, memories and engines. Nothing here moves data.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/engine.hpp"
#include "simulator/faults.hpp"
#include "simulator/model.hpp"
#include "simulator/routes.hpp"

namespace byteways::sim {

// What of the machine moves the bytes: threads of a kernel, its bulk-copy instructions, a copy engine, a
// kernel of the runtime's own; cores of a CPU with ordinary stores, or with those that bypass the caches.
enum class Mechanism { kernel, bulk, engine, blit, core, streaming_core };

// One operation that moves bytes, as far as its cost goes.
struct Transfer {
  Mechanism mechanism;
  Place executor, from, to;
  double bytes = 0;
  int sides = 2;            // local: the memory is read and written (2), or only one of them (1)
  double threads = 0;       // kernel: threads of the launch; bulk: blocks; cores: threads of the team
  double cached_bytes = 0;  // cores: working set that stays from operation to operation, 0: none does
  double part = 1;          // of the efficiency that the model has for this way
  int engine = -1;          // engine: the one that was asked for, -1: any that is free
  bool from_host = false;   // the bytes are a CPU's, also where it shares one memory with a GPU; set by Costs
};

// One pass of a kernel over several arrays at once.
struct Pass {
  Place executor;
  std::vector<Place> reads;  // where each array is that is read, and the one that is written
  Place write;
  double bytes = 0;  // of one array
  double threads = 0;
  double cached_bytes = 0;  // cores: working set that stays from pass to pass, 0: none does
  double part = 1;
};

class Costs {
 public:
  Costs(const Model& model, const Faults& faults, Engine& engine);

  // Adds fixed time, bytes, demands, cap and engines to the operation.
  void add(Operation& operation, const Transfer& transfer);
  void add(Operation& operation, const Pass& pass);
  // A copy of plain host memory by the runtime.
  void add_staged(Operation& operation, Place executor, bool to_gpu, Place host, double bytes);
  // A walk of so many dependent loads over `bytes` that `owner` has. Where a GPU's memory answers them, and
  // no cache, each waits longer the more of that memory others use.
  void add_walk(Operation& operation, Place executor, Place owner, double bytes, double steps);
  // Time of one dependent load of a walk over `bytes` that `owner` has.
  double latency_ns(Place executor, Place owner, double bytes);
  // Time until `poller`, which looks again and again, sees what `writer` stores into memory of `owner`.
  double hand_over_ns(Place writer, Place poller, Place owner);
  // Time of a kernel that does nothing, behind another; of a CPU with a team of so many threads.
  double launch_ns(Place executor, unsigned blocks) const;
  // Time of `items` that do `each` multiply-adds one after another, in so many blocks or on so many cores.
  double arithmetic_ns(Place executor, double each, double items, double blocks) const;
  // Managed pages that move before the operation itself: a fixed time, and a flow over the links that copies
  // of engines take as well.
  void add_migration(Operation& operation, Place from, Place to, double bytes, bool prefetch);
  int processors(int gpu) const { return processors_.at(static_cast<std::size_t>(gpu)); }
  Router& router() { return router_; }
  // Places that share one memory are one: on an APU that is the GPU.
  Place memory_of(Place place) const;

 private:
  double word_latency_ns(Place executor, Place owner, Place other);
  void add_gpu(Operation& operation, const Transfer& transfer);
  void add_cores(Operation& operation, const Transfer& transfer);
  // Bytes/s that one thread of a copying kernel reads at most with so many bytes in flight.
  double thread_rate(Place executor, Place from, double in_flight);
  void add_pass_of_gpu(Operation& operation, const Pass& pass);
  void add_pass_of_cores(Operation& operation, const Pass& pass);
  const RateModel& rate_of(const Transfer& transfer, bool local, bool host) const;
  // `both`: efficiency of a link's two directions together, 0: that of one.
  void cross(Flow& flow, Place from, Place to, double efficiency, double both = 0);
  void touch(Flow& flow, Place from, Place to) const;  // the memories at both ends
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
  std::vector<double> clocks_;  // of each GPU: part of the model's, below 1 when throttled
};

}  // namespace byteways::sim
