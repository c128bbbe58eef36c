// See routes.hpp.
#include "simulator/machine/routes.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>

namespace byteways::sim {
namespace {

bool is_gpu(const std::string& name) { return name.starts_with("gpu"); }
bool is_cpu(const std::string& name) { return name.starts_with("cpu"); }
// Its number; -1 if the name is not a GPU.
int gpu_of(const std::string& name) { return is_gpu(name) ? std::atoi(name.c_str() + 3) : -1; }

}  // namespace

std::string name_of(Place place) {
  return (place.kind == Place::Kind::cpu ? "cpu" : "gpu") + std::to_string(place.index);
}

Router::Router(const Model& model, Engine& engine) : gpus_(model.gpu.count), engine_(&engine) {
  for (const LinkModel& link : model.links) {
    const int shared = link.duplex_bytes_per_s > 0 ? engine.add_resource(link.duplex_bytes_per_s) : -1;
    hops_.push_back({engine.add_resource(link.peak_bytes_per_s), shared, link.peak_bytes_per_s,
                     link.duplex_bytes_per_s, link.a, link.b, link.switch_blocking});
    hops_.push_back({engine.add_resource(link.peak_bytes_per_s), shared, link.peak_bytes_per_s,
                     link.duplex_bytes_per_s, link.b, link.a, link.switch_blocking});
  }
  down_.resize(hops_.size());
  forwarded_.resize(hops_.size());
  const auto widest = [this](int from, int to, std::size_t k) {
    const auto [own, is_new] = own_.try_emplace({from, to}, k);
    if (!is_new && hops_[own->second].peak_bytes_per_s < hops_[k].peak_bytes_per_s) own->second = k;
  };
  for (std::size_t k = 0; k < hops_.size(); ++k) {
    const LinkModel& link = model.links[k / 2];
    const int from = gpu_of(hops_[k].from), to = gpu_of(hops_[k].to);
    if (from < 0 || to < 0) continue;
    forwarded_[k] = link.kind == "xgmi";  // over other fabrics only switches pass on what is for others
    widest(from, to, k);
  }
}

void Router::weaken(const std::string& a, const std::string& b, double part) {
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
Route Router::find(const std::string& from, const std::string& to, bool over_cpus, bool over_gpus) const {
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
  if (!reached.contains(to)) return {};
  std::vector<std::size_t> by;
  for (std::string at = to; at != from; at = hops_[by.front()].from)
    by.insert(by.begin(), static_cast<std::size_t>(reached.at(at).by));
  return way_over(by);
}

Route Router::way_over(const std::vector<std::size_t>& hops) const {
  Route way;
  way.found = true;
  for (const std::size_t k : hops) {
    const Hop& hop = hops_[k];
    if (!way.hops.empty()) {
      way.through_gpu = way.through_gpu || is_gpu(hop.from);
      way.through_cpu = way.through_cpu || is_cpu(hop.from);
    }
    way.hops.push_back(hop);
  }
  return way;
}

std::vector<std::size_t> Router::over_peers(int from, int to) const {
  const auto own = own_.find({from, to});
  if (own != own_.end() && !down_[own->second]) return {own->second};
  std::set<double, std::greater<>> widths;
  for (std::size_t k = 0; k < hops_.size(); ++k)
    if (forwarded_[k]) widths.insert(hops_[k].peak_bytes_per_s);
  for (const double width : widths) {
    std::vector<std::size_t> hops = shortest_over_peers(std::min(from, to), std::max(from, to), width);
    if (hops.empty()) continue;
    if (from > to) {
      std::reverse(hops.begin(), hops.end());
      for (std::size_t& hop : hops) hop ^= 1;
    }
    return hops;
  }
  return {};
}

// Breadth-first search over bundles of at least that width; among equals, over the first GPUs.
std::vector<std::size_t> Router::shortest_over_peers(int from, int to, double width) const {
  std::map<int, std::vector<std::size_t>> reached{{from, {}}};
  std::deque<int> next{from};
  for (; !next.empty() && !reached.contains(to); next.pop_front())
    for (int peer = 0; peer < gpus_; ++peer) {
      const auto own = own_.find({next.front(), peer});
      if (own == own_.end() || reached.contains(peer)) continue;
      const std::size_t k = own->second;
      if (down_[k] || !forwarded_[k] || hops_[k].peak_bytes_per_s < width) continue;
      std::vector<std::size_t> hops = reached.at(next.front());
      hops.push_back(k);
      reached.emplace(peer, std::move(hops));
      next.push_back(peer);
    }
  const auto found = reached.find(to);
  return found == reached.end() ? std::vector<std::size_t>{} : found->second;
}

const Route& Router::between(Place from, Place to) {
  auto [known, fresh] = known_.try_emplace({from, to});
  Route& way = known->second;
  if (!fresh) return way;
  if (from.kind == Place::Kind::gpu && to.kind == Place::Kind::gpu && from.index != to.index) {
    const std::vector<std::size_t> hops = over_peers(from.index, to.index);
    if (!hops.empty()) return way = way_over(hops);
  }
  const std::string a = name_of(from), b = name_of(to);
  way = find(a, b, is_cpu(a) || is_cpu(b), false);
  if (!way.found) way = find(a, b, true, false);
  if (!way.found) way = find(a, b, true, true);
  return way;
}

}  // namespace byteways::sim
