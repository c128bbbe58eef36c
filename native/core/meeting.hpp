// Where the threads of one process meet to exchange what each of them brings.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace byteways {

template <class Item>
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), round_(fresh()) {}
  int size() const { return size_; }

  // Returns the items of all ranks, in order of rank, when all have come. Throws Error once a rank has left;
  // `question` names there what this one came for.
  std::vector<Item> exchange(int rank, const Item& mine, std::string_view question) {
    std::unique_lock lock(mutex_);
    require_all(question);
    const std::shared_ptr<Round> round = round_;
    round->items[static_cast<std::size_t>(rank)] = mine;
    if (++round->arrived == size_) {
      round->complete = true;
      round_ = fresh();
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round->complete || left_ >= 0; });
    if (!round->complete) require_all(question);
    return round->items;
  }

  // The rank comes no longer. The others learn the first one that left.
  void leave(int rank, const std::string& cause) {
    const std::lock_guard lock(mutex_);
    if (left_ >= 0) return;
    left_ = rank;
    cause_ = cause;
    changed_.notify_all();
  }

 private:
  // The items of one exchange. The last rank to arrive completes it and starts the next one.
  struct Round {
    std::vector<Item> items;
    int arrived = 0;
    bool complete = false;
  };
  std::shared_ptr<Round> fresh() const {
    return std::make_shared<Round>(Round{std::vector<Item>(static_cast<std::size_t>(size_)), 0, false});
  }
  void require_all(std::string_view question) const {
    if (left_ >= 0)
      throw Error("team", "a rank left",
                  "rank " + std::to_string(left_) + " left before '" + std::string(question) + "': " + cause_,
                  {}, left_);
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Round> round_;  // the current exchange
  int left_ = -1;                 // rank, -1: none
  std::string cause_;
};

}  // namespace byteways
