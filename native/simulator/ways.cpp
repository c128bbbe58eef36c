// See ways.hpp.
#include "simulator/ways.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

namespace byteways::sim {
namespace {

bool is_gpu(const std::string& name) { return name.starts_with("gpu"); }
bool is_cpu(const std::string& name) { return name.starts_with("cpu"); }

}  // namespace

std::string name_of(Place place) {
  return (place.kind == Place::Kind::cpu ? "cpu" : "gpu") + std::to_string(place.index);
}

Ways::Ways(const Model& model, Engine& engine) : engine_(&engine) {
  for (const LinkModel& link : model.links) {
    const int shared = link.duplex_bytes_per_s > 0 ? engine.add_resource(link.duplex_bytes_per_s) : -1;
    hops_.push_back({engine.add_resource(link.peak_bytes_per_s), shared, link.peak_bytes_per_s,
                     link.duplex_bytes_per_s, link.a, link.b});
    hops_.push_back({engine.add_resource(link.peak_bytes_per_s), shared, link.peak_bytes_per_s,
                     link.duplex_bytes_per_s, link.b, link.a});
  }
  down_.resize(hops_.size());
}

void Ways::weaken(const std::string& a, const std::string& b, double part) {
  bool found = false;
  for (std::size_t k = 0; k < hops_.size(); ++k) {
    Hop& hop = hops_[k];
    if ((hop.from != a || hop.to != b) && (hop.from != b || hop.to != a)) continue;
    found = true;
    down_[k] = part == 0;
    engine_->set_capacity(hop.resource, part * hop.peak_bytes_per_s);
    if (hop.both_directions >= 0) engine_->set_capacity(hop.both_directions, part * hop.duplex_bytes_per_s);
  }
  if (!found) throw std::invalid_argument("this machine has no link between " + a + " and " + b);
  known_.clear();
}

// Dijkstra's algorithm for the widest path, with the number of links to break ties.
Way Ways::find(const std::string& from, const std::string& to, bool over_cpus, bool over_gpus) const {
  struct Reached {
    double width = 0;
    std::size_t links = 0;
    int by = -1;  // index of the last hop
  };
  std::map<std::string, Reached> reached{{from, {std::numeric_limits<double>::max(), 0, -1}}};
  std::set<std::string> settled;
  for (;;) {
    const std::string* next = nullptr;
    for (const auto& [name, each] : reached) {
      if (settled.contains(name)) continue;
      const Reached& best = next ? reached.at(*next) : each;
      if (next == nullptr || each.width > best.width || (each.width == best.width && each.links < best.links))
        next = &name;
    }
    if (next == nullptr || *next == to) break;
    const std::string here = *next;
    settled.insert(here);
    if (here != from && ((is_cpu(here) && !over_cpus) || (is_gpu(here) && !over_gpus))) continue;
    for (std::size_t k = 0; k < hops_.size(); ++k) {
      const Hop& hop = hops_[k];
      if (hop.from != here || down_[k] || settled.contains(hop.to)) continue;
      const Reached candidate{std::min(reached.at(here).width, hop.peak_bytes_per_s),
                              reached.at(here).links + 1, static_cast<int>(k)};
      Reached& known = reached[hop.to];
      if (candidate.width > known.width || (candidate.width == known.width && candidate.links < known.links))
        known = candidate;
    }
  }
  Way way;
  const auto end = reached.find(to);
  if (end == reached.end()) return way;
  way.found = true;
  for (std::string at = to; at != from;) {
    const Hop& hop = hops_[static_cast<std::size_t>(reached.at(at).by)];
    way.hops.insert(way.hops.begin(), hop);
    at = hop.from;
    if (at != from && is_gpu(at)) way.through_gpu = true;
    if (at != from && is_cpu(at)) way.through_cpu = true;
  }
  return way;
}

const Way& Ways::between(Place from, Place to) {
  auto [known, fresh] = known_.try_emplace({from, to});
  Way& way = known->second;
  if (!fresh) return way;
  const std::string a = name_of(from), b = name_of(to);
  const bool on_host = is_cpu(a) || is_cpu(b);
  way = find(a, b, on_host, !on_host);
  if (!way.found) way = find(a, b, true, true);
  return way;
}

}  // namespace byteways::sim
