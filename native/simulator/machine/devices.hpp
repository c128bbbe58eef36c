// State of the simulated GPUs: peer access, failures and counters.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/machine/common.hpp"
#include "simulator/machine/costs.hpp"
#include "simulator/machine/faults.hpp"
#include "simulator/memory/accounting.hpp"
#include "simulator/memory/memory.hpp"

namespace byteways::sim {

class Devices {
 public:
  Devices(const Model& model, const Faults& faults, Costs& costs, const MemoryAccounting& holdings);

  // Called by every function that uses a GPU: once the GPU has failed, throws that failure (device_lost,
  // illegal_address) at every call. CPUs do not fail.
  void check(Place place) const;
  void count_operation(Place place);
  void fail(Place place, const Failure& failure);
  // How GPUs and links have failed, in words; empty: none has.
  std::string failures() const;
  int first_failed() const;  // number of a GPU, -1: none

  bool linked(int gpu, int peer);  // whether a route without CPUs connects the GPUs
  void enable_peer(int gpu, int peer);
  void open_peer(int gpu, int peer) { peers_.insert({gpu, peer}); }  // also where it is open already
  void disable_peer(int gpu, int peer);
  // Returns why `who` cannot access the block; empty if it can.
  std::string barrier(Place who, const Block& block) const;

  void count_moved(Place from, Place to, std::uint64_t bytes);
  Health health(int gpu) const;

  bool pageable_access;  // kernels reach plain host memory

 private:
  struct Device {
    std::uint64_t operations = 0;
    std::optional<Failure> failure;
    Health health;
  };
  const Model* model_;
  const Faults* faults_;
  Costs* costs_;
  const MemoryAccounting* accounting_;
  std::vector<Device> devices_;
  std::set<std::pair<int, int>> peers_;  // (GPU, peer whose memory it may access)
};

}  // namespace byteways::sim
