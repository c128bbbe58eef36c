// One-sided transfers of the simulated MPI: the rank that calls moves the bytes itself, by its core or its
// GPU, without the other one. Memory of a GPU that it cannot open is staged.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "simulator/mpi/messages.hpp"

namespace byteways::sim::mpi {

// What a rank exposes, and from where it calls.
struct Exposed {
  std::uint64_t address = 0, bytes = 0;
  int number = 0, domain = 0;  // of the rank
};

struct SharedWindow {
  std::uint64_t comm = 0;
  std::vector<Exposed> ranks;                            // of the communicator
  std::multimap<int, std::shared_ptr<Request>> pending;  // by who has called
};

class OneSided {
 public:
  // The window of the `number`th collective call on a communicator; the same for all ranks of it.
  std::uint64_t create(std::uint64_t comm, std::uint64_t number, std::vector<Exposed> ranks);
  // Throws Failure (invalid) when there is none.
  SharedWindow& window(std::uint64_t handle);
  // Begins to move `bytes` between `own`, which `caller` has, and the other rank's memory at `offset`;
  // `puts`: into the latter. Throws Failure (invalid) beyond what it exposes.
  void start(Transfers& transfers, SharedWindow& window, const Rank& caller, int other, std::uint64_t offset,
             void* own, std::uint64_t bytes, bool puts);
  // Takes out what this rank has begun with rank `other` of the window, or with any where that is negative.
  std::vector<std::shared_ptr<Request>> take(SharedWindow& window, int caller, int other);
  void withdraw_all(int rank);

 private:
  std::map<std::uint64_t, SharedWindow> windows_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> created_;
};

}  // namespace byteways::sim::mpi
