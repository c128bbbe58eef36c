// Which way the simulated NCCL or RCCL takes for a call: a ring or trees of GPUs, and the protocol of a hop.
//
// It chooses as the libraries do (ncclTopoGetAlgoTime in src/graph/tuning.cc of both): of what they have for
// the call, whatever takes the least time by steps and bytes. What that comes to is then simulated.
#pragma once
#include <utility>
#include <vector>

#include "simulator/machine/costs.hpp"
#include "simulator/machine/model.hpp"

namespace byteways::sim::xccl {

enum class Kind { all_reduce, reduce, reduce_scatter, all_gather, broadcast };

// LL sends a flag with every word of data, so that a receiver needs no other signal: a short step, and twice
// the bytes, with less of a link's rate. LL128 sends a flag of 8 bytes with every 120. Simple sends the data
// alone, and a signal behind them.
enum class Protocol { low_latency, low_latency_128, simple };

enum class Algorithm { ring, tree };

// In the words of the libraries' logs.
const char* name_of(Kind kind);
const char* name_of(Protocol protocol);
const char* name_of(Algorithm algorithm);

// What a GPU sends to another in all, and how many hops follow each other.
struct Way {
  std::vector<std::pair<int, int>> edges;  // ranks that send to ranks …
  std::vector<double> bytes;               // … so much
  int steps = 1;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
};

// What is known of the ranks: the rings that they form (rings.hpp), what joins their GPUs, and which
// part of a link a copy kernel uses.
struct Ranks {
  const std::vector<std::vector<int>>& rings;
  const std::vector<int>& gpus;  // by rank
  const XcclModel& model;
  double kernel_efficiency;
  Router& router;
};

struct Choices {
  std::vector<Algorithm> algorithms;
  std::vector<Protocol> protocols;
};

// What the library may take: NCCL_PROTO restricts the protocols, and NCCL_ALGO the algorithms of all-reduce,
// which alone has several. Throws Failure if they leave nothing.
Choices choices_of(const XcclModel& model, Kind kind);

// `bytes` is of one rank's block where blocks are exchanged. Each ring carries an equal part of them.
// All-reduce has trees, too, which within a host are chains, as those of NCCL: the sum goes along the ring
// from the last GPU to the first, and back. All other collectives have rings alone.
Way way_of(const Ranks& ranks, Kind kind, double bytes, int root);
Way way_of_message(const Ranks& ranks, int from, int to, double bytes);

// Bytes that go over a link, by protocol.
double sent_bytes(Protocol protocol, double bytes);
double step_ns(const XcclModel& model, Protocol protocol);
// Part of a copy kernel's rate.
double efficiency(const XcclModel& model, Protocol protocol);

}  // namespace byteways::sim::xccl
