// Ranks that are threads of one process. See team.hpp.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "timing/team.hpp"

namespace byteways {
namespace {

// Where the threads of a team exchange their votes.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), round_(fresh()) {}
  int size() const { return size_; }

  std::vector<Vote> exchange(int rank, const Vote& vote) {
    std::unique_lock lock(mutex_);
    require_all(vote);
    const std::shared_ptr<Round> round = round_;
    round->votes[static_cast<std::size_t>(rank)] = vote;
    if (++round->arrived == size_) {
      round->complete = true;
      round_ = fresh();
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round->complete || left_ >= 0; });
    if (!round->complete) require_all(vote);
    return round->votes;
  }

  // The rank leaves the team. The others learn the first one that left.
  void leave(int rank, const std::string& cause) {
    const std::lock_guard lock(mutex_);
    if (left_ >= 0) return;
    left_ = rank;
    cause_ = cause;
    changed_.notify_all();
  }

 private:
  // The votes of one exchange. The last rank to arrive completes it and starts the next one.
  struct Round {
    std::vector<Vote> votes;
    int arrived = 0;
    bool complete = false;
  };
  std::shared_ptr<Round> fresh() const {
    return std::make_shared<Round>(Round{std::vector<Vote>(static_cast<std::size_t>(size_)), 0, false});
  }
  void require_all(const Vote& vote) const {
    if (left_ >= 0)
      throw Error("team", "a rank left",
                  "rank " + std::to_string(left_) + " left before '" + vote.question + "': " + cause_);
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Round> round_;  // the current exchange
  int left_ = -1;                 // rank, -1: none
  std::string cause_;
};

class ThreadTeam final : public Team {
 public:
  ThreadTeam(Meeting& meeting, int rank) : meeting_(&meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }

 private:
  std::vector<Vote> exchange(const Vote& mine) override { return meeting_->exchange(rank_, mine); }

  Meeting* meeting_;
  int rank_;
};

std::string described(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

}  // namespace

void run_thread_team(int size, const std::function<void(Team&)>& body) {
  if (size < 1) throw Error("team", "size", std::to_string(size) + " ranks are no team");
  Meeting meeting(size);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
  const auto attempt = [&](int rank, const auto& action) {
    try {
      action();
    } catch (...) {
      const std::exception_ptr failure = std::current_exception();
      failures[static_cast<std::size_t>(rank)] = failure;
      meeting.leave(rank, described(failure));
    }
  };
  const auto play = [&](int rank) {
    attempt(rank, [&] {
      ThreadTeam self(meeting, rank);
      body(self);
      meeting.leave(rank, "its work has ended");
    });
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)  // a thread that cannot be started counts as a rank that left
    attempt(rank, [&] { threads.emplace_back(play, rank); });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace byteways
