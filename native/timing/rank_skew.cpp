// See rank_skew.hpp.
#include "timing/rank_skew.hpp"

#include <algorithm>

#include "core/cpus.hpp"
#include "timing/statistics.hpp"

namespace byteways {
namespace {

constexpr double kUnknown = -1;  // of a share

}  // namespace

void SkewLog::note(const std::vector<Presence>& ranks) {
  begins_ns_.resize(ranks.size());
  ends_ns_.resize(ranks.size());
  times_ns_.resize(ranks.size());
  last_.resize(ranks.size());
  const auto [first, last] = std::minmax_element(
      ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  const auto ended = std::min_element(ranks.begin(), ranks.end(),
                                      [](const auto& a, const auto& b) { return a.end_ns < b.end_ns; });
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    begins_ns_[rank].push_back(ranks[rank].begin_ns - first->begin_ns);
    ends_ns_[rank].push_back(ranks[rank].end_ns - ended->end_ns);
    times_ns_[rank].push_back(ranks[rank].time_ns);
    last_[rank] += ranks[rank].begin_ns >= last->begin_ns ? 1 : 0;
  }
}

std::vector<RankSkew> SkewLog::summary() const {
  std::vector<RankSkew> ranks;
  for (std::size_t rank = 0; rank < last_.size(); ++rank)
    ranks.push_back({median(begins_ns_[rank]), median(ends_ns_[rank]),
                     last_[rank] / static_cast<double>(begins_ns_[rank].size()), std::nullopt,
                     median(times_ns_[rank])});
  return ranks;
}

CpuWait::CpuWait(double now_ns) : begin_ns_(now_ns), waited_ns_(cpu_wait_ns()) {}

std::optional<double> CpuWait::share(double now_ns) const {
  const std::optional<double> waited_ns = cpu_wait_ns();
  if (!waited_ns_ || !waited_ns || now_ns <= begin_ns_) return std::nullopt;
  return std::clamp((*waited_ns - *waited_ns_) / (now_ns - begin_ns_), 0.0, 1.0);
}

std::vector<RankSkew> skew_of_ranks(const SkewLog& log, std::optional<double> waiting, Team& team) {
  std::vector<RankSkew> ranks = log.summary();
  const std::vector<double> shares = team.gather("time without a CPU", waiting.value_or(kUnknown));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (shares[rank] != kUnknown) ranks[rank].waiting = shares[rank];
  return ranks;
}

}  // namespace byteways
