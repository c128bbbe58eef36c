// A team over ranks that exchange bytes: processes of an MPI job, or threads. See team.hpp.
#pragma once
#include <functional>

#include "runtimes/ranks.hpp"
#include "timing/team.hpp"

namespace byteways {

// Runs `body` on this rank, as every rank of `ranks` does, and returns when it has ended here. A rank whose
// body has ended, or thrown, has left the team: ranks that wait for it, or will, get an Error that names it
// and the cause. Throws what the body threw. A process that is gone altogether is for the launcher to notice.
void run_rank_team(const Ranks& ranks, const std::function<void(Team&)>& body);

// The same without the rank's end, for callers with a place of their own to say good-bye: a team for as long
// as `ranks` lives.
class RankTeam final : public Team {
 public:
  explicit RankTeam(const Ranks& ranks) : ranks_(&ranks) {}
  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }
  // This rank takes part no longer. Collective like all verbs: it meets the next verb of the others.
  void leave(const std::string& cause);

 private:
  std::vector<Vote> exchange(const Vote& mine) override;
  void require_all(const Vote& mine) const;

  const Ranks* ranks_;
  std::string ended_;  // why there is no team any more; empty: there is
  int left_ = -1;      // rank that ended it by leaving, -1: none
};

}  // namespace byteways
