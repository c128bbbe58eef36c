// Who holds how much of the simulated machine's memory: blocks, what pools keep beyond them, and physical
// memory that waits to be mapped.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "simulator/costs.hpp"
#include "simulator/faults.hpp"
#include "simulator/memory.hpp"
#include "simulator/world.hpp"

namespace byteways::sim {

class MemoryAccounting {
 public:
  MemoryAccounting(const Model& model, const Faults& faults, Costs& costs)
      : model_(&model), faults_(&faults), costs_(&costs) {}

  // Bytes that are left where the owner's memory is.
  std::uint64_t free_at(Place owner) const;
  std::uint64_t used_at(Place owner) const;
  // Throws Failure (out_of_memory).
  void take(Place owner, std::uint64_t bytes);
  void give_back(Place owner, std::uint64_t bytes);

  // Of a GPU's pool: what is given back to it stays there up to its threshold.
  // Answer what the pool did not have, and what it did not keep.
  std::uint64_t take_from_pool(int gpu, std::uint64_t bytes);
  std::uint64_t give_to_pool(int gpu, std::uint64_t bytes);
  void set_pool_threshold(int gpu, std::uint64_t bytes) { pools_[gpu].threshold = bytes; }
  std::uint64_t trim_pool(int gpu, std::uint64_t keep);  // answers what it gave up
  void open_pool(int gpu, int to, bool open);
  bool pool_is_open(int gpu, int to) const;

  // Physical memory by number; it is given back when it has been released and is mapped nowhere.
  struct Physical {
    Place owner;
    std::uint64_t bytes = 0;
    int uses = 1;
  };
  std::uint64_t create_physical(Place owner, std::uint64_t bytes);
  // Throws Failure (invalid) for a number that is none.
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
