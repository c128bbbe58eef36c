// Verification data of one case: fills, spoils and checks buffers on all ranks of the team. A wrong word on
// one rank makes the case wrong on all.
#pragma once
#include <cstdint>
#include <vector>

#include "timing/flow_runner.hpp"

namespace byteways {

class CheckedData {
 public:
  // `key`: key of the data patterns.
  CheckedData(Session& session, std::vector<FlowRunner>& runners, std::uint64_t key, Team& team);

  // Fills all buffers. The rotation restarts at slot 0, which filling has evicted from the caches.
  void prepare();
  // Does the same if operations have run since the last prepare().
  void renew();
  // Call before operations run on the data.
  void use() { untouched_ = false; }
  // Checks every word that operations wrote since prepare(), on all ranks.
  void check_all();
  // The same, and a check of some words that each flow wrote from operation `firsts[flow]` on, of this rank
  // alone: conclude() has to follow. The choice of words changes with each call.
  void look_at_all();
  void look_at_some(const std::vector<std::uint64_t>& firsts);
  // Checks that nothing has written behind the end of any buffer of the session, on all ranks.
  void check_guards();
  // Whether this rank has found a wrong word …
  bool found_wrong() const { return !ok_; }
  // … and what the ranks have agreed about it: whether any has.
  void conclude(bool any_found_wrong);

  // True if every checked word was correct, on all ranks.
  bool ok() const { return ok_; }
  // Result per flow: of this rank, or of the first rank with a wrong word.
  const std::vector<Verification>& found() const { return found_; }
  // Duration of the latest prepare(), in ns.
  double preparation_ns() const { return preparation_ns_; }

 private:
  void note(std::size_t flow, const Verification& result);

  Session* session_;
  std::vector<FlowRunner>* runners_;
  std::uint64_t key_;
  Team* team_;
  std::vector<std::uint64_t> firsts_;  // per flow: its next operation at the last prepare()
  std::vector<Verification> found_;
  std::uint64_t preparations_ = 0;
  bool untouched_ = false;  // no operation ran on the data since prepare()
  bool ok_ = true;
  double preparation_ns_ = 0;
};

}  // namespace byteways
