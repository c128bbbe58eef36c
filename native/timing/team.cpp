// See team.hpp.
#include "timing/team.hpp"

#include <algorithm>
#include <utility>

namespace byteways {
namespace {

std::string name_of(std::size_t rank) { return "rank " + std::to_string(rank); }

// Throws on a rank that did not fail itself, because another one did.
[[noreturn]] void rethrow(const Vote& vote, std::size_t rank) {
  const std::string text = name_of(rank) + " failed in " + vote.question + ": " + vote.text;
  const int whose = vote.rank >= 0 ? vote.rank : static_cast<int>(rank);
  if (vote.kind == "unsupported") throw Unsupported(vote.call, vote.code, text, vote.device, whose);
  if (vote.kind == "out-of-memory") throw OutOfMemory(vote.call, vote.code, text, vote.device, whose);
  throw Error(vote.call, vote.code, text, vote.device, whose);
}

void require_same_step(const std::vector<Vote>& votes) {
  for (std::size_t rank = 1; rank < votes.size(); ++rank)
    if (votes[rank].question != votes[0].question || votes[rank].values.size() != votes[0].values.size())
      throw Error("team", "out of step",
                  "rank 0 is at '" + votes[0].question + "' and " + name_of(rank) + " at '" +
                      votes[rank].question + "'");
}

}  // namespace

std::vector<Vote> Team::ask(std::string_view question, std::vector<double> values, std::string text) {
  Vote mine{std::string(question), std::move(values), std::move(text), false, {}, {}, {}, {}, -1};
  try {
    std::vector<Vote> votes = exchange(mine);
    for (std::size_t rank = 0; rank < votes.size(); ++rank)
      if (votes[rank].failed) rethrow(votes[rank], rank);
    require_same_step(votes);
    return votes;
  } catch (...) {
    failure_known_ = true;
    throw;
  }
}

void Team::barrier(std::string_view question) {
  if (size() > 1) ask(question, {});
}

std::vector<double> Team::agree_max(std::string_view question, std::vector<double> mine) {
  if (size() == 1) return mine;
  for (const Vote& vote : ask(question, mine))
    for (std::size_t k = 0; k < mine.size(); ++k) mine[k] = std::max(mine[k], vote.values[k]);
  return mine;
}

std::vector<std::vector<double>> Team::gather(std::string_view question, std::vector<double> mine) {
  if (size() == 1) return {std::move(mine)};
  std::vector<std::vector<double>> all;
  for (Vote& vote : ask(question, std::move(mine))) all.push_back(std::move(vote.values));
  return all;
}

std::vector<double> Team::gather(std::string_view question, double mine) {
  std::vector<double> values;
  for (const std::vector<double>& each : gather(question, std::vector<double>{mine}))
    values.push_back(each.front());
  return values;
}

double Team::agree_max(std::string_view question, double mine) {
  return agree_max(question, std::vector<double>{mine}).front();
}

double Team::agree_min(std::string_view question, double mine) { return -agree_max(question, -mine); }

// Counts are far below 2^53, except the power of two that means no limit.
std::uint64_t Team::agree_max(std::string_view question, std::uint64_t mine) {
  return size() == 1 ? mine : static_cast<std::uint64_t>(agree_max(question, static_cast<double>(mine)));
}

std::uint64_t Team::agree_min(std::string_view question, std::uint64_t mine) {
  return size() == 1 ? mine : static_cast<std::uint64_t>(agree_min(question, static_cast<double>(mine)));
}

bool Team::agree_any(std::string_view question, bool mine) {
  return agree_max(question, mine ? 1.0 : 0.0) > 0;
}

bool Team::agree_all(std::string_view question, bool mine) { return !agree_any(question, !mine); }

std::string Team::agree_text(std::string_view question, std::string mine) {
  if (size() == 1) return mine;
  const std::vector<Vote> votes = ask(question, {}, std::move(mine));
  const auto first =
      std::find_if(votes.begin(), votes.end(), [](const Vote& vote) { return !vote.text.empty(); });
  return first == votes.end() ? std::string() : first->text;
}

std::string Team::broadcast(std::string_view question, std::string mine, int from) {
  if (from < 0 || from >= size())
    throw Error("broadcast", std::string(question), "the team has no rank " + std::to_string(from));
  if (size() == 1) return mine;
  return ask(question, {}, from == rank() ? std::move(mine) : std::string())[static_cast<std::size_t>(from)]
      .text;
}

// Tells the other ranks. They notice failures of the team itself on their own.
void Team::report(std::string_view phase, const std::exception_ptr& failure) {
  Vote vote{std::string(phase), {}, {}, true, "error", "team", "exception", {}, -1};
  const auto describe = [&](const char* kind, const Error& error) {
    vote.kind = kind;
    vote.text = error.text();
    vote.call = error.call();
    vote.code = error.code();
    vote.device = error.device();
    vote.rank = error.rank();
  };
  try {
    std::rethrow_exception(failure);
  } catch (const Unsupported& error) {
    describe("unsupported", error);
  } catch (const OutOfMemory& error) {
    describe("out-of-memory", error);
  } catch (const Error& error) {
    describe("error", error);
  } catch (const std::exception& error) {
    vote.text = error.what();
  } catch (...) {
    vote.text = "an exception of unknown type";
  }
  try {
    exchange(vote);
  } catch (const std::exception&) {  // the reported failure is more important
  }
}

void Team::together(std::string_view name, const std::function<void()>& phase) {
  if (size() == 1) return phase();
  failure_known_ = false;
  std::exception_ptr failure;
  try {
    phase();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) return barrier(name);
  if (!failure_known_) report(name, failure);
  std::rethrow_exception(failure);
}

}  // namespace byteways
