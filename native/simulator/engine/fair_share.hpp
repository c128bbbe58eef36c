// Max-min fair sharing: no flow can get a higher rate without reducing that of a flow whose rate is not
// higher.
#pragma once
#include <span>
#include <vector>

namespace byteways::sim {

// Use of a resource per byte/s of a flow: 1 / efficiency; 2 if it is read and written.
struct Demand {
  int resource;
  double weight;
  bool operator==(const Demand&) const = default;
};

struct Flow {
  std::vector<Demand> demands;
  double cap = 0;  // bytes/s of its own, 0: none
  // A resource that the flow does not use but where it waits for others: its rate is divided by 1 + `waits` x
  // u^3, where u is the fraction that others use.
  int waits_at = -1;
  double waits = 0;
  // Resources by which the flow enters and leaves a switch, -1: none. If its port sends to n others that each
  // receive from n ports, a packet waits behind others for busy outputs: the rate is divided by 1 +
  // `blocking` x (1 - 1/n). Without buffers `blocking` is 0.67, within 3 % (Karol, Hluchyj and Morgan, IEEE
  // Trans. Commun. 35, 1987, table I).
  int enters = -1, leaves = -1;
  double blocking = 0;
  double rate = 0;  // result in bytes/s; 0 if a resource that it needs has no capacity
};

// Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2) with weights: the rates of all
// flows that are not fixed grow equally until a resource or a cap is full; the flows that it limits are then
// fixed. `capacities` are bytes/s.
void share(std::span<const double> capacities, std::span<Flow* const> flows);

}  // namespace byteways::sim
