// The simulated GPUs as a program may use them: which memory each reaches, what has gone wrong with it, and
// what it counted.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/costs.hpp"
#include "simulator/faults.hpp"
#include "simulator/memory.hpp"
#include "simulator/memory_accounting.hpp"
#include "simulator/world.hpp"

namespace byteways::sim {

class Devices {
 public:
  Devices(const Model& model, const Faults& faults, Costs& costs, const MemoryAccounting& holdings);

  // Every call that concerns a GPU asks first: throws what it failed of (device_lost, illegal_address), then
  // and ever after. CPUs do not fail.
  void check(Place place) const;
  void count_operation(Place place);
  void fail(Place place, const Failure& failure);

  bool linked(int gpu, int peer);  // GPUs reach each other without the CPUs
  void enable_peer(int gpu, int peer);
  void disable_peer(int gpu, int peer);
  // Why `who` cannot touch the block; empty when it can.
  std::string barrier(Place who, const Block& block) const;

  void count_moved(Place from, Place to, std::uint64_t bytes);
  World::Health health(int gpu) const;

  bool pageable_access;  // kernels reach plain host memory

 private:
  struct Device {
    std::uint64_t operations = 0;
    std::optional<Failure> failure;
    World::Health health;
  };
  const Model* model_;
  const Faults* faults_;
  Costs* costs_;
  const MemoryAccounting* accounting_;
  std::vector<Device> devices_;
  std::set<std::pair<int, int>> peers_;  // who may reach whose memory
};

}  // namespace byteways::sim
