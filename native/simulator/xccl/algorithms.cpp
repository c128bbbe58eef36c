// See algorithms.hpp.
#include "simulator/xccl/algorithms.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "simulator/machine/common.hpp"
#include "simulator/machine/environment.hpp"
#include "simulator/machine/index.hpp"

namespace byteways::sim::xccl {
namespace {

constexpr double kLowLatencyBytes = 2;  // LL sends a flag of 4 bytes with every 4 bytes of data
constexpr double kLowLatency128Bytes = 128.0 / 120;

// Collects what ranks send to each other.
class Loads {
 public:
  void add(int from, int to, double bytes) { of_[{from, to}] += bytes; }
  Way way(int steps) const {
    Way way;
    for (const auto& [edge, bytes] : of_) {
      way.edges.push_back(edge);
      way.bytes.push_back(bytes);
    }
    way.steps = steps;
    return way;
  }

 private:
  std::map<std::pair<int, int>, double> of_;
};

// Once around for each rank's block, or from the root to the last one; all-reduce goes around twice.
Way ring_way(const Ranks& ranks, Kind kind, double bytes, int root) {
  const std::size_t n = ranks.gpus.size();
  const auto others = static_cast<double>(n - 1);
  const bool rooted = kind == Kind::broadcast || kind == Kind::reduce;
  const double of_link = rooted                     ? bytes
                         : kind == Kind::all_reduce ? 2 * bytes * others / static_cast<double>(n)
                                                    : bytes * others;
  Loads loads;
  for (const std::vector<int>& ring : ranks.rings)
    for (std::size_t each = 0; each < n && n > 1; ++each) {
      const int from = ring[each], to = ring[(each + 1) % n];
      const bool unused = (kind == Kind::broadcast && to == root) || (kind == Kind::reduce && from == root);
      if (!unused) loads.add(from, to, of_link / static_cast<double>(ranks.rings.size()));
    }
  return loads.way(static_cast<int>(kind == Kind::all_reduce ? 2 * (n - 1) : n - 1));
}

Way chain_way(const Ranks& ranks, double bytes) {
  Loads loads;
  const std::size_t n = ranks.gpus.size();
  for (const std::vector<int>& ring : ranks.rings)
    for (std::size_t each = 1; each < n; ++each)
      for (const auto& [from, to] :
           {std::pair{ring[each], ring[each - 1]}, std::pair{ring[each - 1], ring[each]}})
        loads.add(from, to, bytes / static_cast<double>(ranks.rings.size()));
  Way way = loads.way(static_cast<int>(2 * (n - 1)));
  way.algorithm = Algorithm::tree;
  return way;
}

// By steps, and by what the most loaded link carries; nullopt where no link leads.
std::optional<double> predicted_ns(const Ranks& ranks, const Way& way) {
  const double used = ranks.kernel_efficiency * efficiency(ranks.model, way.protocol);
  std::map<int, double> seconds;  // by link and direction
  for (std::size_t each = 0; each < way.edges.size(); ++each) {
    const auto [from, to] = way.edges[each];
    const Route& route = ranks.router.between({Place::Kind::gpu, ranks.gpus[at(from)]},
                                              {Place::Kind::gpu, ranks.gpus[at(to)]});
    if (!route.found) return std::nullopt;
    for (const Hop& hop : route.hops)
      seconds[hop.resource] += sent_bytes(way.protocol, way.bytes[each]) / (used * hop.peak_bytes_per_s);
  }
  double most = 0;
  for (const auto& [link, takes] : seconds) most = std::max(most, takes);
  return way.steps * step_ns(ranks.model, way.protocol) + most * 1e9;
}

// Of equal ones the first. Where no link leads, whoever starts the flows says so.
Way fastest(const Ranks& ranks, const std::vector<Way>& ways, const std::vector<Protocol>& protocols) {
  std::optional<double> least;
  Way best = ways.front();
  best.protocol = protocols.front();
  for (Way way : ways)
    for (const Protocol protocol : protocols) {
      way.protocol = protocol;
      const std::optional<double> takes = predicted_ns(ranks, way);
      if (!takes || (least && *takes >= *least)) continue;
      least = takes;
      best = way;
    }
  return best;
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return "AllReduce";
    case Kind::reduce:
      return "Reduce";
    case Kind::reduce_scatter:
      return "ReduceScatter";
    case Kind::all_gather:
      return "AllGather";
    default:
      return "Broadcast";
  }
}

const char* name_of(Protocol protocol) {
  if (protocol == Protocol::low_latency_128) return "LL128";
  return protocol == Protocol::low_latency ? "LL" : "SIMPLE";
}

const char* name_of(Algorithm algorithm) { return algorithm == Algorithm::ring ? "RING" : "TREE"; }

double sent_bytes(Protocol protocol, double bytes) {
  if (protocol == Protocol::low_latency_128) return kLowLatency128Bytes * bytes;
  return protocol == Protocol::low_latency ? kLowLatencyBytes * bytes : bytes;
}

double step_ns(const XcclModel& model, Protocol protocol) {
  if (protocol == Protocol::low_latency_128) return model.ll128_step_ns;
  return protocol == Protocol::low_latency ? model.ll_step_ns : model.simple_step_ns;
}

double efficiency(const XcclModel& model, Protocol protocol) {
  return protocol == Protocol::low_latency ? model.ll_efficiency : model.simple_efficiency;
}

Choices choices_of(const XcclModel& model, Kind kind) {
  Choices all{{Algorithm::ring}, {Protocol::low_latency, Protocol::low_latency_128, Protocol::simple}};
  if (kind == Kind::all_reduce) {
    all.algorithms.push_back(Algorithm::tree);
    std::erase_if(all.algorithms,
                  [](Algorithm each) { return !allowed_by_variable("NCCL_ALGO", name_of(each)); });
  }
  std::erase_if(all.protocols, [&](Protocol each) {
    // NCCL 2.28 on H100 took LL up to 1 MiB and Simple from 16 MiB (examples/h100x4/collectives), never
    // LL128.
    const bool is_128 = each == Protocol::low_latency_128;
    const bool unknown = is_128 && model.ll128_step_ns <= 0;
    return unknown || !allowed_by_variable("NCCL_PROTO", name_of(each), !is_128);
  });
  if (all.algorithms.empty() || all.protocols.empty())
    throw Failure(Code::invalid,
                  std::string("NCCL_ALGO and NCCL_PROTO allow no algorithm of ") + name_of(kind));
  return all;
}

Way way_of(const Ranks& ranks, Kind kind, double bytes, int root) {
  const Choices choices = choices_of(ranks.model, kind);
  std::vector<Way> ways;
  for (const Algorithm algorithm : choices.algorithms)
    ways.push_back(algorithm == Algorithm::ring ? ring_way(ranks, kind, bytes, root)
                                                : chain_way(ranks, bytes));
  return fastest(ranks, ways, choices.protocols);
}

Way way_of_message(const Ranks& ranks, int from, int to, double bytes) {
  Way way;
  way.edges = {{from, to}};
  way.bytes = {bytes};
  return fastest(ranks, {way}, {Protocol::low_latency, Protocol::simple});
}

}  // namespace byteways::sim::xccl
