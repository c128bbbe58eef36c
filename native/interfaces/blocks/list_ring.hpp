// A ring of lists in memory that the host writes and a GPU reads: each launch has a list of its own, which is
// written again only once the launch has ended.
#pragma once
#include <memory>
#include <vector>

#include "interfaces/blocks/arguments.hpp"
#include "runtimes/session.hpp"

namespace byteways {

class ListRing {
 public:
  ListRing(Device& device, std::uint64_t blocks_of_a_list);

  // Returns the next list. Waits for the launch that used it before, if that still runs.
  BlockPair* next();
  // Call after the launch that reads the list of the last next().
  void launched(Stream& stream);
  // Launches that may be in a queue that does not run, without next() waiting for one of them.
  static std::uint64_t most_launches();

 private:
  Device* device_;
  std::vector<std::unique_ptr<Allocation>> memory_;
  std::vector<BlockPair*> lists_;
  std::vector<std::unique_ptr<Event>> ends_;  // of the last launch of each group of lists
  std::uint64_t taken_ = 0;
};

}  // namespace byteways
