// See fair_share.hpp.
#include "simulator/engine/fair_share.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace byteways::sim {
namespace {

// Rates are sums of many steps; a resource that is full except for rounding is full.
constexpr double kRounding = 1e-9;

std::size_t resource_of(const Demand& demand) { return static_cast<std::size_t>(demand.resource); }

class Filling {
 public:
  void fill(std::span<const double> capacities, std::span<Flow* const> flows);

 private:
  void add_weights(std::size_t resources);
  double step(double level) const;  // increment for all growing flows
  bool is_full(const Flow& flow, double level, std::span<const double> capacities) const;
  void block(std::span<Flow* const> flows);

  std::vector<Flow*> growing_;
  std::vector<double> left_, weights_;  // by resource: free capacity; total weight of the growing flows
  std::vector<std::size_t> used_;       // resources used by growing flows
  std::vector<std::pair<int, int>> crossings_;  // of switches: by which port in, by which out
};

void Filling::add_weights(std::size_t resources) {
  weights_.assign(resources, 0);
  used_.clear();
  for (const Flow* flow : growing_)
    for (const Demand& demand : flow->demands) {
      double& weight = weights_[resource_of(demand)];
      if (weight == 0) used_.push_back(resource_of(demand));
      weight += demand.weight;
    }
}

double Filling::step(double level) const {
  double step = std::numeric_limits<double>::max();
  for (const std::size_t resource : used_)
    step = std::min(step, std::max(0.0, left_[resource]) / weights_[resource]);
  for (const Flow* flow : growing_)
    if (flow->cap > 0) step = std::min(step, flow->cap - level);
  return step;
}

bool Filling::is_full(const Flow& flow, double level, std::span<const double> capacities) const {
  if (flow.cap > 0 && level * (1 + kRounding) >= flow.cap) return true;
  return std::any_of(flow.demands.begin(), flow.demands.end(), [&](const Demand& demand) {
    const std::size_t resource = resource_of(demand);
    return left_[resource] <= capacities[resource] * kRounding;
  });
}

void Filling::block(std::span<Flow* const> flows) {
  crossings_.clear();
  for (const Flow* flow : flows)
    if (flow->blocking > 0) crossings_.emplace_back(flow->enters, flow->leaves);
  std::ranges::sort(crossings_);
  crossings_.erase(std::unique(crossings_.begin(), crossings_.end()), crossings_.end());
  for (Flow* flow : flows) {
    if (flow->blocking <= 0) continue;
    const auto sends = std::ranges::count(crossings_, flow->enters, &std::pair<int, int>::first);
    const auto receives = std::ranges::count(crossings_, flow->leaves, &std::pair<int, int>::second);
    flow->rate /= 1 + flow->blocking * (1 - 1.0 / static_cast<double>(std::min(sends, receives)));
  }
}

void Filling::fill(std::span<const double> capacities, std::span<Flow* const> flows) {
  left_.assign(capacities.begin(), capacities.end());
  growing_.assign(flows.begin(), flows.end());
  double level = 0;  // rate of every growing flow
  while (!growing_.empty()) {
    add_weights(capacities.size());
    const double by = step(level);
    level += by;
    for (const std::size_t resource : used_) left_[resource] -= by * weights_[resource];
    const auto full = [&](const Flow* flow) { return is_full(*flow, level, capacities); };
    for (Flow* flow : growing_) flow->rate = level;
    const std::size_t before = growing_.size();
    std::erase_if(growing_, full);
    if (growing_.size() == before) break;  // by rounding, no resource may be exactly full
  }
  block(flows);
  for (Flow* flow : flows) {
    if (flow->waits_at < 0) continue;
    const auto resource = static_cast<std::size_t>(flow->waits_at);
    const double used = capacities[resource] > 0 ? 1 - left_[resource] / capacities[resource] : 0;
    flow->rate /= 1 + flow->waits * used * used * used;
  }
}

}  // namespace

void share(std::span<const double> capacities, std::span<Flow* const> flows) {
  // Called at every start and end of a flow: reuse its vectors.
  thread_local Filling filling;
  filling.fill(capacities, flows);
}

}  // namespace byteways::sim
