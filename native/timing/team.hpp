// The ranks that measure one case together. A decision that depends on a rank's clock (batch size,
// steadiness, stopping …) must be the same on all ranks; otherwise they would enqueue different numbers of
// operations and deadlock. So the team makes such decisions: every rank states its value, and all ranks use
// the same result. A measurement by one process has a SoloTeam, which returns the value of its only rank.
//
// All functions are collective: all ranks call them in the same order. A rank that failed sends its failure
// instead of a value to the next one, so that the others fail there too instead of waiting.
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace byteways {

// What one rank sends. A transport only has to exchange votes.
struct Vote {
  std::string question;        // names the decision; if it differs between ranks, they are out of step
  std::vector<double> values;  // the same number on every rank
  std::string text;
  bool failed = false;  // `question` is then the phase, and these describe the failure:
  std::string kind;     // "error", "out-of-memory", "unsupported"
  std::string call, code, device;
  int rank = -1;  // whose failure it is, -1: the sender's
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
  // Returns the maximum over all ranks, element by element.
  std::vector<double> agree_max(std::string_view question, std::vector<double> mine);
  bool agree_all(std::string_view question, bool mine);
  bool agree_any(std::string_view question, bool mine);
  // Returns the text of the first rank that has one; empty if none has.
  std::string agree_text(std::string_view question, std::string mine);
  // Returns the values of all ranks, in order of rank.
  std::vector<double> gather(std::string_view question, double mine);
  std::vector<std::vector<double>> gather(std::string_view question, std::vector<double> mine);
  // Returns the text of rank `from`.
  std::string broadcast(std::string_view question, std::string mine, int from);

  // Runs `phase` and returns when it has succeeded on all ranks. Rethrows the exception of this rank, else
  // throws the failure of the first rank that failed, with its number. Phases do not nest.
  void together(std::string_view name, const std::function<void()>& phase);

 protected:
  // Sends `mine` and returns the votes of all ranks, in order of rank.
  virtual std::vector<Vote> exchange(const Vote& mine) = 0;

 private:
  std::vector<Vote> ask(std::string_view question, std::vector<double> values, std::string text = {});
  void report(std::string_view phase, const std::exception_ptr& failure);

  bool failure_known_ = false;  // all ranks know it: do not report it again
};

// A team of one rank.
class SoloTeam final : public Team {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

 private:
  std::vector<Vote> exchange(const Vote& mine) override { return {mine}; }
};

// Runs `body` once for each of `size` ranks, which are threads of this process, and returns when all have
// ended. A rank that throws leaves the team: ranks that wait for it get an Error with its number and the
// cause. Rethrows the exception of the lowest rank that threw. Throws Error for a size below 1.
void run_thread_team(int size, const std::function<void(Team&)>& body);

}  // namespace byteways
