// The links of the simulated machine, and which of them a byte crosses from one place to another.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "simulator/engine.hpp"
#include "simulator/model.hpp"

namespace byteways::sim {

std::string name_of(Place place);

// One direction of a bundle, as the engine shares it.
struct Hop {
  int resource = -1;
  int both_directions = -1;  // resource that the directions share, -1: none
  double peak_bytes_per_s = 0, duplex_bytes_per_s = 0;
  std::string from, to;
};

struct Way {
  std::vector<Hop> hops;
  bool found = false;
  bool through_gpu = false;  // another GPU passes it on
  bool through_cpu = false;  // between GPUs: staged, or over the root of the PCIe tree
};

class Ways {
 public:
  Ways(const Model& model, Engine& engine);
  // Links by name of both ends at `part` of their rate (a fault); 0 takes them away. Throws
  // std::invalid_argument when there is no such link.
  void weaken(const std::string& a, const std::string& b, double part);
  // The widest way, of equally wide ones that with the fewest links. Between GPUs it leads over CPUs, and
  // from and to a CPU over GPUs, only where there is no other: a GPU passes on what is for GPUs.
  const Way& between(Place from, Place to);

 private:
  Way find(const std::string& from, const std::string& to, bool over_cpus, bool over_gpus) const;
  std::vector<Hop> hops_;
  std::vector<bool> down_;
  Engine* engine_;
  std::map<std::pair<Place, Place>, Way> known_;
};

}  // namespace byteways::sim
