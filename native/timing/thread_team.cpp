// Ranks that are threads of one process. See team.hpp.
#include <exception>
#include <thread>

#include "core/meeting.hpp"
#include "timing/team.hpp"

namespace byteways {
namespace {

class ThreadTeam final : public Team {
 public:
  ThreadTeam(Meeting<Vote>& meeting, int rank) : meeting_(&meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }

 private:
  std::vector<Vote> exchange(const Vote& mine) override {
    return meeting_->exchange(rank_, mine, mine.question);
  }

  Meeting<Vote>* meeting_;
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
  Meeting<Vote> meeting(size);
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
