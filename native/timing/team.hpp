// The ranks that measure one case together. A decision that follows from a rank's own clock (batch size,
// steadiness, stopping …) has to be the same on all of them, or they enqueue different counts and wait for
// each other for ever. So such decisions are put to the team: every rank states what it found, and all ranks
// go by the same answer. A measurement by one process has a SoloTeam, which answers what it was told.
//
// Verbs are collective: all ranks call them in the same order. A rank that failed takes part in the next one
// with its failure in place of its value, so that the others end there, too, and nobody waits for it.
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace byteways {

// What one rank states. The exchange of votes is all that ranks need of a transport.
struct Vote {
  std::string question;        // ranks that are asked different things have lost step
  std::vector<double> values;  // as many on every rank
  std::string text;
  bool failed = false;  // `question` is then the phase, and the failure is described by these:
  std::string kind;     // "error", "out-of-memory", "unsupported"
  std::string call, code, device;
};

class Team {
 public:
  virtual ~Team() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Returns when all ranks have called it.
  void barrier(std::string_view question);
  double agree_max(std::string_view question, double mine);
  double agree_min(std::string_view question, double mine);
  std::uint64_t agree_max(std::string_view question, std::uint64_t mine);
  std::uint64_t agree_min(std::string_view question, std::uint64_t mine);
  // The greatest of all ranks at each place.
  std::vector<double> agree_max(std::string_view question, std::vector<double> mine);
  bool agree_all(std::string_view question, bool mine);
  bool agree_any(std::string_view question, bool mine);
  // The text of the first rank that has one; empty: none has.
  std::string agree_text(std::string_view question, std::string mine);
  // The value of every rank, to every rank.
  std::vector<double> gather(std::string_view question, double mine);
  // The text of rank `from`.
  std::string broadcast(std::string_view question, std::string mine, int from);

  // Runs `phase` and returns when it has succeeded on all ranks. Throws what was thrown here, else the
  // failure of the first rank that failed, with its number. Phases do not nest.
  void together(std::string_view name, const std::function<void()>& phase);

 protected:
  // Sends `mine` and returns the votes of all ranks, in order of rank.
  virtual std::vector<Vote> exchange(const Vote& mine) = 0;

 private:
  std::vector<Vote> ask(std::string_view question, std::vector<double> values, std::string text = {});
  void report(std::string_view phase, const std::exception_ptr& failure);

  bool failure_known_ = false;  // to all ranks: it is not reported again
};

// One rank alone.
class SoloTeam final : public Team {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

 private:
  std::vector<Vote> exchange(const Vote& mine) override { return {mine}; }
};

// Runs `body` once for each of `size` ranks, which are threads of this process, and returns when all have
// ended. A rank that throws has left the team: ranks that wait for it, or will, get an Error that names it
// and the cause. Throws what the lowest rank threw, if any did, and Error for a size below 1.
void run_thread_team(int size, const std::function<void(Team&)>& body);

}  // namespace byteways
