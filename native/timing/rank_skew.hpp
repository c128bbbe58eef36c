// When the ranks of a team begin and end their batches: a rank that begins late keeps the others waiting.
#pragma once
#include <optional>
#include <vector>

#include "timing/team.hpp"

namespace byteways {

// Of one rank, over all batches that were sampled.
struct RankSkew {
  double begin_ns = 0;            // median delay of its begin after the first rank's
  double end_ns = 0;              // median delay of its end after the first rank's
  double begins_last = 0;         // share of the batches in which no other rank began later
  std::optional<double> waiting;  // share of the time in which it had no CPU though ready to run
  double time_ns = 0;             // median of an operation by its own clock, of a fixed loop; 0: not taken
};

// One batch of one rank, by a clock that all ranks share.
struct Presence {
  double begin_ns = 0, end_ns = 0;
  double time_ns = 0;  // of an operation, by the clock of this rank; 0: not taken
};

// All ranks note the same batches. A team of one rank has no skew.
class SkewLog {
 public:
  // Adds one batch: the presence of every rank, in order of rank.
  void note(const std::vector<Presence>& ranks);
  void clear() { *this = {}; }
  // Returns one entry per rank, in order; empty without a batch.
  std::vector<RankSkew> summary() const;

 private:
  std::vector<std::vector<double>> begins_ns_, ends_ns_;  // by rank: delays of each batch
  std::vector<std::vector<double>> times_ns_;             // by rank
  std::vector<double> last_;                              // by rank: batches in which it began last
};

// The time that this thread waits for a CPU, as a share of the time that passes.
class CpuWait {
 public:
  explicit CpuWait(double now_ns);
  std::optional<double> share(double now_ns) const;

 private:
  double begin_ns_;
  std::optional<double> waited_ns_;
};

// Returns the skew of all ranks with the share of time that each waited for a CPU. Collective.
std::vector<RankSkew> skew_of_ranks(const SkewLog& log, std::optional<double> waiting, Team& team);

}  // namespace byteways
