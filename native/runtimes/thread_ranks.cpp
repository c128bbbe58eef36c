// See thread_ranks.hpp.
#include "runtimes/thread_ranks.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/error.hpp"
#include "core/meeting.hpp"

namespace byteways {

class ThreadRanks::Group {
 public:
  explicit Group(int size) : meeting(size) {}
  Meeting<std::string> meeting;

  // The part of these members, the same one for all of them.
  std::shared_ptr<Group> part(const std::vector<int>& members) {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, group] : parts_)
      if (known == members) return group;
    parts_.emplace_back(members, std::make_shared<Group>(static_cast<int>(members.size())));
    return parts_.back().second;
  }

  void leave(int rank, const std::string& cause) {
    meeting.leave(rank, cause);
    const std::lock_guard lock(mutex_);
    for (const auto& [members, group] : parts_)
      if (const auto found = std::find(members.begin(), members.end(), rank); found != members.end())
        group->leave(static_cast<int>(found - members.begin()), cause);
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::vector<int>, std::shared_ptr<Group>>> parts_;
};

ThreadRanks::ThreadRanks(std::shared_ptr<Group> group, int rank)
    : Ranks(rank, group->meeting.size()), group_(std::move(group)) {}

std::vector<ThreadRanks> ThreadRanks::make(int size) {
  if (size < 1) throw Error("ranks", "size", std::to_string(size) + " ranks are none");
  const auto group = std::make_shared<Group>(size);
  std::vector<ThreadRanks> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(ThreadRanks(group, rank));
  return ranks;
}

std::string ThreadRanks::broadcast_bytes(std::string mine, int root) const {
  if (root < 0 || root >= size()) throw Error("broadcast", std::to_string(root), "there is no such rank");
  if (rank() != root) mine.clear();
  return group_->meeting.exchange(rank(), mine, "broadcast")[static_cast<std::size_t>(root)];
}

std::vector<std::string> ThreadRanks::gather_bytes(const std::string& mine) const {
  return group_->meeting.exchange(rank(), mine, "gather");
}

std::optional<ThreadRanks> ThreadRanks::split(int color, int key) const {
  const std::vector<std::string> told =
      group_->meeting.exchange(rank(), std::to_string(color) + " " + std::to_string(key), "split");
  if (color < 0) return std::nullopt;
  std::vector<std::pair<int, int>> same;  // key and rank
  for (std::size_t other = 0; other < told.size(); ++other) {
    const std::size_t gap = told[other].find(' ');
    if (std::stoi(told[other].substr(0, gap)) == color)
      same.emplace_back(std::stoi(told[other].substr(gap + 1)), static_cast<int>(other));
  }
  std::sort(same.begin(), same.end());
  std::vector<int> members;
  for (const auto& [order, member] : same) members.push_back(member);
  const auto own = std::find(members.begin(), members.end(), rank());
  return ThreadRanks(group_->part(members), static_cast<int>(own - members.begin()));
}

void ThreadRanks::leave(const std::string& cause) const { group_->leave(rank(), cause); }

}  // namespace byteways
