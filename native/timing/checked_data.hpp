// The data of one case, which proves what its operations did: made anew, spoiled and checked on all ranks of
// the team. What is wrong on one rank is wrong.
#pragma once
#include <cstdint>
#include <vector>

#include "timing/flow_runner.hpp"

namespace byteways {

class CheckedData {
 public:
  // `key`: of the data patterns.
  CheckedData(Session& session, std::vector<FlowRunner>& runners, std::uint64_t key, Team& team);

  // New data everywhere; rotation starts at slot 0, which filling has long driven out of the caches.
  void prepare();
  // The same where operations ran since.
  void renew();
  // Operations are about to run on it.
  void use() { untouched_ = false; }
  // Checks every word that operations wrote since prepare().
  void check_all();
  // Checks some words of what each flow wrote from operation `firsts[flow]` on: which, differs from call to
  // call.
  void spot_check(const std::vector<std::uint64_t>& firsts);

  // Every word that was looked at is as it should be, on all ranks.
  bool ok() const { return ok_; }
  // What was found of each flow: of this rank, or of the first rank where something was wrong.
  const std::vector<Verification>& found() const { return found_; }
  // Time that the latest prepare() took.
  double preparation_ns() const { return preparation_ns_; }

 private:
  void note(std::size_t flow, const Verification& result);
  void agree();

  Session* session_;
  std::vector<FlowRunner>* runners_;
  std::uint64_t key_;
  Team* team_;
  std::vector<std::uint64_t> firsts_;  // operation of each flow at which the data was new
  std::vector<Verification> found_;
  std::uint64_t preparations_ = 0;
  bool untouched_ = false;  // no operation ran on the data since prepare()
  bool ok_ = true;
  double preparation_ns_ = 0;
};

}  // namespace byteways
