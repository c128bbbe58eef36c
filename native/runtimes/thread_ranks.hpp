// Ranks that are threads of this process: launch mode `thread`. No MPI is needed.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtimes/ranks.hpp"

namespace byteways {

// One rank's handle; copies are the same rank. Only its thread calls it, except leave().
class ThreadRanks final : public Ranks {
 public:
  // The handles of all ranks, in order. Throws Error for a size below 1.
  static std::vector<ThreadRanks> make(int size);

  std::string broadcast_bytes(std::string mine, int root) const override;
  std::vector<std::string> gather_bytes(const std::string& mine) const override;
  // Ranks of the same color, in order of `key`; empty for color -1. Collective.
  std::optional<ThreadRanks> split(int color, int key) const;
  // This rank takes part no longer: the verbs of the others, also of the parts they were split into, throw
  // Error with its number and the cause.
  void leave(const std::string& cause) const;

 private:
  class Group;
  ThreadRanks(std::shared_ptr<Group> group, int rank);

  std::shared_ptr<Group> group_;
};

}  // namespace byteways
