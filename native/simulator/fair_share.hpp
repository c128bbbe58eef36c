// Max-min fair sharing: every flow gets as much as the fullest of its resources leaves to it, and none can
// get more without taking from one that has no more itself.
#pragma once
#include <span>
#include <vector>

namespace byteways::sim {

// What one byte/s of a flow takes of a resource: 1 / efficiency, 2 where it is read and written.
struct Demand {
  int resource;
  double weight;
  bool operator==(const Demand&) const = default;
};

struct Flow {
  std::vector<Demand> demands;
  double cap = 0;  // bytes/s of its own, 0: none
  // A resource of which it takes nothing, yet where it waits for others: the rate it would have is divided by
  // 1 + `waits` x u^3 where they use the part u of it.
  int waits_at = -1;
  double waits = 0;
  double rate = 0;  // bytes/s, the answer; 0 when a resource it needs gives nothing
};

// Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2) with weights: all unfrozen flows
// grow alike until a resource or a cap is full, and what that holds is frozen. `capacities` are bytes/s.
void share(std::span<const double> capacities, std::span<Flow* const> flows);

}  // namespace byteways::sim
