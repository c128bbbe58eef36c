// See rings.hpp.
#include "simulator/xccl/rings.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "simulator/machine/index.hpp"

namespace byteways::sim::xccl {
namespace {

using Order = std::vector<int>;

constexpr std::size_t kMostSearched = 8;  // GPUs whose orders are all tried
constexpr int kMostTries = 400'000;       // of a ring beside others: a few milliseconds

// Direct links between the GPUs, each direction a number with room for so many rings.
class Links {
 public:
  Links(const Order& gpus, Router& router) : size_(gpus.size()), between_(size_ * size_) {
    std::map<int, std::pair<std::size_t, double>> known;  // by resource: number, bytes/s
    for (std::size_t a = 0; a < size_; ++a)
      for (std::size_t b = 0; b < size_; ++b) {
        if (a == b) continue;
        const Route& way = router.between({Place::Kind::gpu, gpus[a]}, {Place::Kind::gpu, gpus[b]});
        if (!way.found || way.through_gpu || way.through_cpu || way.hops.size() > 2) continue;
        for (const Hop& hop : way.hops) {
          const auto [link, is_new] = known.try_emplace(hop.resource, known.size(), hop.peak_bytes_per_s);
          between_[a * size_ + b].push_back(link->second.first);
          narrowest_ = std::min(narrowest_, hop.peak_bytes_per_s);
        }
      }
    widths_.resize(known.size());
    for (const auto& [resource, link] : known) widths_[link.first] = link.second;
  }

  const std::vector<std::size_t>& between(int a, int b) const { return between_[at(a) * size_ + at(b)]; }
  // Room of each link for rings of the width of the narrowest one, `scale` times as many narrower ones.
  std::vector<int> room(int scale) const {
    std::vector<int> room;
    for (const double width : widths_) room.push_back(static_cast<int>(width / narrowest_ + 0.01) * scale);
    return room;
  }
  // All rings of direct links that begin at 0, in lexicographic order.
  std::vector<Order> rings() const {
    std::vector<Order> found;
    Order order(size_);
    std::iota(order.begin(), order.end(), 0);
    do {
      bool direct = true;
      for (std::size_t each = 0; each < size_ && direct; ++each)
        direct = !between(order[each], order[(each + 1) % size_]).empty();
      if (direct) found.push_back(order);
    } while (std::next_permutation(order.begin() + 1, order.end()));
    return found;
  }
  std::vector<std::size_t> of(const Order& ring) const {
    std::vector<std::size_t> used;
    for (std::size_t each = 0; each < size_; ++each)
      for (const std::size_t link : between(ring[each], ring[(each + 1) % size_])) used.push_back(link);
    return used;
  }
  // Rings that the links out of the GPU with the fewest have room for.
  int bound(const std::vector<int>& room) const {
    int least = std::numeric_limits<int>::max();
    for (std::size_t a = 0; a < size_; ++a) {
      std::vector<std::size_t> first;  // a switch is behind one link, whichever GPU is beyond
      for (std::size_t b = 0; b < size_; ++b)
        if (const auto& links = between_[a * size_ + b]; !links.empty()) first.push_back(links.front());
      std::sort(first.begin(), first.end());
      first.erase(std::unique(first.begin(), first.end()), first.end());
      int out = 0;
      for (const std::size_t link : first) out += room[link];
      least = std::min(least, out);
    }
    return least;
  }

 private:
  std::size_t size_;
  std::vector<std::vector<std::size_t>> between_;
  std::vector<double> widths_;
  double narrowest_ = std::numeric_limits<double>::max();
};

// As many rings as fit beside each other, by trying; the first of equal sets.
class Packing {
 public:
  Packing(std::vector<std::vector<std::size_t>> rings, std::vector<int> room, int bound)
      : rings_(std::move(rings)), room_(std::move(room)), bound_(bound) {
    extend(0);
  }
  const std::vector<std::size_t>& best() const { return best_; }

 private:
  void extend(std::size_t first) {
    if (chosen_.size() > best_.size()) best_ = chosen_;
    for (std::size_t ring = first; ring < rings_.size(); ++ring) {
      if (static_cast<int>(best_.size()) == bound_ || ++tries_ > kMostTries) return;
      if (!take(rings_[ring])) continue;
      chosen_.push_back(ring);
      extend(ring);
      chosen_.pop_back();
      for (const std::size_t link : rings_[ring]) ++room_[link];
    }
  }
  bool take(const std::vector<std::size_t>& links) {
    const auto is_full = [this](std::size_t link) { return room_[link] == 0; };
    if (std::any_of(links.begin(), links.end(), is_full)) return false;
    for (const std::size_t link : links) --room_[link];
    return true;
  }

  const std::vector<std::vector<std::size_t>> rings_;
  std::vector<int> room_;
  int bound_, tries_ = 0;
  std::vector<std::size_t> chosen_, best_;
};

}  // namespace

std::vector<std::vector<int>> find_rings(const std::vector<int>& gpus, Router& router) {
  Order order(gpus.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<Order> plain = {order, Order(order.rbegin(), order.rend())};
  if (gpus.size() < 2 || gpus.size() > kMostSearched) return plain;
  const Links links(gpus, router);
  const std::vector<Order> rings = links.rings();
  if (rings.empty()) return plain;
  std::vector<std::vector<std::size_t>> used;
  for (const Order& ring : rings) used.push_back(links.of(ring));
  std::vector<std::size_t> best;
  for (const int scale : {1, 2}) {
    const std::vector<int> room = links.room(scale);
    const int bound = links.bound(room);
    const Packing packing(used, room, bound);
    const bool fills = static_cast<int>(packing.best().size()) == bound;
    if (scale == 1 || fills) best = packing.best();
    if (fills) break;
  }
  std::vector<Order> found;
  for (const std::size_t ring : best) found.push_back(rings[ring]);
  return found;
}

}  // namespace byteways::sim::xccl
