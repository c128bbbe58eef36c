// See rank_team.hpp.
#include "timing/rank_team.hpp"

#include <cstring>
#include <exception>
#include <utility>

namespace byteways {
namespace {

class Writer {
 public:
  template <class Number>
  void number(Number value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number<std::uint64_t>(value.size());
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, bytes(sizeof value), sizeof value);
    return value;
  }
  std::string text() {
    const auto length = number<std::uint64_t>();
    return {bytes(length), length};
  }

 private:
  const char* bytes(std::size_t count) {
    if (count > bytes_.size() - at_) throw Error("team", "vote", "a vote arrived incomplete");
    return bytes_.data() + std::exchange(at_, at_ + count);
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

std::string written(const Vote& vote, bool leaves) {
  Writer to;
  to.number<std::uint8_t>(leaves);
  to.number<std::uint8_t>(vote.failed);
  to.number<std::uint64_t>(vote.values.size());
  for (const double value : vote.values) to.number(value);
  for (const auto* text : {&vote.question, &vote.text, &vote.kind, &vote.call, &vote.code, &vote.device})
    to.text(*text);
  to.number<std::int32_t>(vote.rank);
  return to.take();
}

Vote read(const std::string& bytes, bool& leaves) {
  Reader from(bytes);
  Vote vote;
  leaves = from.number<std::uint8_t>() != 0;
  vote.failed = from.number<std::uint8_t>() != 0;
  const auto values = from.number<std::uint64_t>();
  for (std::uint64_t k = 0; k < values; ++k) vote.values.push_back(from.number<double>());
  for (auto* text : {&vote.question, &vote.text, &vote.kind, &vote.call, &vote.code, &vote.device})
    *text = from.text();
  vote.rank = from.number<std::int32_t>();
  return vote;
}

}  // namespace

void RankTeam::require_all(const Vote& mine) const {
  if (left_ >= 0)
    throw Error("team", "a rank left",
                "rank " + std::to_string(left_) + " left before '" + mine.question + "': " + ended_, {},
                left_);
  if (!ended_.empty()) throw Error("team", "transport", ended_);
}

std::vector<Vote> RankTeam::exchange(const Vote& mine) {
  require_all(mine);
  std::vector<Vote> votes;
  try {
    for (const std::string& bytes : ranks_->gather_bytes(written(mine, false))) {
      bool leaves = false;
      votes.push_back(read(bytes, leaves));
      if (!leaves || left_ >= 0) continue;
      left_ = static_cast<int>(votes.size()) - 1;
      ended_ = votes.back().text;
    }
  } catch (const Error& error) {
    ended_ = error.what();  // ranks that lost the transport do not come back in step
    throw;
  }
  require_all(mine);
  return votes;
}

void RankTeam::leave(const std::string& cause) {
  if (!ended_.empty()) return;
  ended_ = cause.empty() ? "no cause was given" : cause;
  left_ = rank();
  Vote farewell;
  farewell.text = ended_;
  ranks_->gather_bytes(written(farewell, true));
}

void run_rank_team(const Ranks& ranks, const std::function<void(Team&)>& body) {
  RankTeam self(ranks);
  std::string cause = "its work has ended";
  std::exception_ptr failure;
  try {
    body(self);
  } catch (const std::exception& error) {
    cause = error.what();
    failure = std::current_exception();
  } catch (...) {
    cause = "an exception of unknown type";
    failure = std::current_exception();
  }
  try {
    self.leave(cause);
  } catch (const Error&) {
    if (!failure) throw;  // what the body threw matters more
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace byteways
