// Whom a communicator or window connects, by ranks of the world's communicator. Remembered until it is freed.
#pragma once
#include <cstddef>

#include "watch/mpi/library.hpp"

namespace byteways::watch::mpi {

struct Members {
  int own = -1;             // rank of this process among those that a rank names; -1: it is not among them
  int count = 0;            // ranks that a rank of this one names: of the other group between two groups
  int own_count = 0;        // ranks of the group of this process
  int sources = 0;          // neighbours in the topology, from which this rank receives
  int destinations = 0;     // neighbours to which it sends
  int* in_world = nullptr;  // rank in the world's communicator, -1 where it is not in it
  std::size_t known_in_world = 0;  // the length of that list; 0: unknown

  int world_rank(int rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < known_in_world
               ? in_world[static_cast<std::size_t>(rank)]
               : -1;
  }
};

const Members& members_of(Handle comm) noexcept;
const Members& members_of_window(Handle window) noexcept;
// Those of a communicator if they are known; asks nothing of MPI: it may have been freed since.
const Members& members_known_of(Handle comm) noexcept;
void forget(Handle comm) noexcept;
void forget_window(Handle window) noexcept;

// Bytes of one element; 0 where MPI does not say.
std::int64_t type_bytes(Handle type) noexcept;
// Bytes that a receive brought, -1 where MPI does not say.
std::int64_t arrived_bytes(const void* status) noexcept;
// Rank of the sender in the communicator, as the status has it.
int source_in(const void* status) noexcept;
// Also where MPI does not say.
bool is_cancelled(const void* status) noexcept;
// Whether the world's communicator may be asked.
bool has_world() noexcept;
// Says in the snapshot that something is missing: MPI did not answer, or there was no memory.
void note_missing() noexcept;
// Notes rank and size of the world, once MPI has started; returns the size, 0 where there is no world.
int note_world() noexcept;

}  // namespace byteways::watch::mpi
