// See fair_share.hpp.
#include "simulator/fair_share.hpp"

#include <algorithm>
#include <limits>

namespace byteways::sim {
namespace {

constexpr double kEqual = 1 + 1e-9;

double alone(std::span<const double> capacities, const Flow& flow) {
  double rate = flow.cap > 0 ? flow.cap : std::numeric_limits<double>::max();
  for (const Demand& demand : flow.demands)
    rate = std::min(rate, capacities[static_cast<std::size_t>(demand.resource)] / demand.weight);
  return rate;
}

}  // namespace

void share(std::span<const double> capacities, std::span<Flow* const> flows) {
  if (flows.size() == 1) {
    flows[0]->rate = alone(capacities, *flows[0]);
    return;
  }
  std::vector<double> left(capacities.begin(), capacities.end());
  std::vector<Flow*> growing(flows.begin(), flows.end());
  std::vector<double> weight(capacities.size());
  for (Flow* flow : growing) flow->rate = 0;
  double level = 0;  // what every growing flow has
  while (!growing.empty()) {
    std::fill(weight.begin(), weight.end(), 0);
    for (const Flow* flow : growing)
      for (const Demand& demand : flow->demands)
        weight[static_cast<std::size_t>(demand.resource)] += demand.weight;
    double step = std::numeric_limits<double>::max();
    for (std::size_t resource = 0; resource < weight.size(); ++resource)
      if (weight[resource] > 0) step = std::min(step, std::max(0.0, left[resource]) / weight[resource]);
    for (const Flow* flow : growing)
      if (flow->cap > 0) step = std::min(step, flow->cap - level);
    level += step;
    for (std::size_t resource = 0; resource < weight.size(); ++resource)
      left[resource] -= step * weight[resource];
    const auto full = [&](const Flow* flow) {
      if (flow->cap > 0 && level * kEqual >= flow->cap) return true;
      return std::any_of(flow->demands.begin(), flow->demands.end(), [&](const Demand& demand) {
        const auto resource = static_cast<std::size_t>(demand.resource);
        return left[resource] <= capacities[resource] * (kEqual - 1);
      });
    };
    auto frozen = std::partition(growing.begin(), growing.end(), [&](Flow* flow) { return !full(flow); });
    if (frozen == growing.end()) frozen = growing.begin();  // rounding alone can leave nothing quite full
    for (auto flow = frozen; flow != growing.end(); ++flow) (*flow)->rate = level;
    growing.erase(frozen, growing.end());
  }
}

}  // namespace byteways::sim
