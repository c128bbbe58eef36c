// Links of the simulated machine, and the route between two places.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "simulator/engine/engine.hpp"
#include "simulator/machine/model.hpp"

namespace byteways::sim {

std::string name_of(Place place);

// One direction of a link bundle, a resource of the engine.
struct Hop {
  int resource = -1;
  int both_directions = -1;  // resource that the directions share, -1: none
  double peak_bytes_per_s = 0, duplex_bytes_per_s = 0;
  std::string from, to;
  double switch_blocking = 0;
};

struct Route {
  std::vector<Hop> hops;
  bool found = false;
  bool through_gpu = false;  // another GPU forwards
  bool through_cpu = false;  // between GPUs: staged, or over the root of the PCIe tree
};

class Router {
 public:
  Router(const Model& model, Engine& engine);
  // Reduces the links between two ends to `part` of their rate (a fault); 0 removes them. Throws
  // std::invalid_argument when there is no such link.
  void weaken(const std::string& a, const std::string& b, double part);
  // Same rules as byteways.machine.routes. Between GPUs that xGMI joins: their own bundle, or else the
  // widest way over other GPUs, of equal ones that with the fewest links, both directions alike. Otherwise
  // the widest way over switches and, to and from CPUs or where there is no other, over CPUs; over GPUs as
  // the very last.
  const Route& between(Place from, Place to);

 private:
  Route find(const std::string& from, const std::string& to, bool over_cpus, bool over_gpus) const;
  // Returns the links from one GPU to another as indices of hops_; empty if GPUs do not forward on this
  // machine.
  std::vector<std::size_t> over_peers(int from, int to) const;
  std::vector<std::size_t> shortest_over_peers(int from, int to, double width) const;
  Route way_over(const std::vector<std::size_t>& hops) const;

  int gpus_;
  std::vector<Hop> hops_;                           // both directions of a bundle are neighbours
  std::vector<bool> down_, forwarded_;              // by index of hops_
  std::map<std::pair<int, int>, std::size_t> own_;  // GPU and GPU -> their widest bundle
  Engine* engine_;
  std::map<std::pair<Place, Place>, Route> known_;
};

}  // namespace byteways::sim
