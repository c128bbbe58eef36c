// Ranks that are processes of one host, started without MPI: their words go over Unix sockets through the
// first rank.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtimes/ranks.hpp"

namespace byteways {

class ProcessRanks final : public Ranks {
 public:
  // Meets the other ranks in a folder that is theirs alone. Throws Error when they do not come within
  // `patience_s` seconds, or the path is too long for a socket.
  static ProcessRanks join(const std::string& folder, int rank, int size, double patience_s);

  std::string broadcast_bytes(std::string mine, int root) const override;
  std::vector<std::string> gather_bytes(const std::string& mine) const override;
  // Ranks of the same color, in order of `key`; empty for color -1. Collective.
  std::optional<ProcessRanks> split(int color, int key) const;

 private:
  class Group;
  ProcessRanks(std::shared_ptr<Group> group, int rank, int size);

  std::shared_ptr<Group> group_;
};

}  // namespace byteways
