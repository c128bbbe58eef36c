// Accounting of the simulated machine's memory: blocks, memory kept by pools, and physical memory that is not
// mapped.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "simulator/machine/common.hpp"
#include "simulator/machine/costs.hpp"
#include "simulator/machine/faults.hpp"
#include "simulator/memory/memory.hpp"

namespace byteways::sim {

class MemoryAccounting {
 public:
  MemoryAccounting(const Model& model, const Faults& faults, Costs& costs)
      : model_(&model), faults_(&faults), costs_(&costs) {}

  // Returns the free bytes of the owner's memory.
  std::uint64_t free_at(Place owner) const;
  std::uint64_t used_at(Place owner) const;
  // Throws Failure (out_of_memory).
  void take(Place owner, std::uint64_t bytes);
  void give_back(Place owner, std::uint64_t bytes);

  // A GPU's pool keeps freed memory up to its threshold. The functions return the bytes that the pool did not
  // have, or did not keep.
  std::uint64_t take_from_pool(int gpu, std::uint64_t bytes);
  std::uint64_t give_to_pool(int gpu, std::uint64_t bytes);
  void keep_in_pool(int gpu, std::uint64_t bytes) { pools_[gpu].kept += bytes; }
  std::uint64_t trim_to_threshold(int gpu) { return trim_pool(gpu, pools_[gpu].threshold); }
  void set_pool_threshold(int gpu, std::uint64_t bytes) { pools_[gpu].threshold = bytes; }
  std::uint64_t trim_pool(int gpu, std::uint64_t keep);  // returns the released bytes
  void open_pool(int gpu, int to, bool open);
  bool pool_is_open(int gpu, int to) const;

  // Physical memory by number; it is freed when it has been released and is not mapped.
  struct Physical {
    Place owner;
    std::uint64_t bytes = 0;
    int uses = 1;
  };
  std::uint64_t create_physical(Place owner, std::uint64_t bytes);
  // Throws Failure (invalid) for an unknown number.
  const Physical& use_physical(std::uint64_t number);
  void drop_physical(std::uint64_t number);

 private:
  struct Pool {
    std::uint64_t threshold = 0, kept = 0;
    std::set<int> open_to;
  };
  static std::pair<int, int> index_of(Place place) { return {static_cast<int>(place.kind), place.index}; }
  Physical& physical(std::uint64_t number);

  const Model* model_;
  const Faults* faults_;
  Costs* costs_;
  std::map<std::pair<int, int>, std::uint64_t> used_;  // bytes, by memory
  std::map<int, Pool> pools_;                          // by GPU
  std::map<std::uint64_t, Physical> physical_;
  std::uint64_t next_physical_ = 1;
};

}  // namespace byteways::sim
