// Whom a communicator or window connects, by ranks of the world's communicator. Remembered until it is freed.
#pragma once
#include <vector>

#include "watch/mpi/library.hpp"

namespace byteways::watch::mpi {

struct Members {
  int own = -1;               // rank of this process among them
  int count = 0;              // ranks that a rank of this one names: of the other group between two groups
  std::vector<int> in_world;  // rank in the world's communicator, -1 where it is not in it; empty: unknown

  int world_rank(int rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < in_world.size() ? in_world[rank] : -1;
  }
};

const Members& members_of(Handle comm) noexcept;
const Members& members_of_window(Handle window) noexcept;
void forget(Handle comm) noexcept;
void forget_window(Handle window) noexcept;

// Bytes of one element; 0 where MPI does not say.
std::int64_t type_bytes(Handle type) noexcept;
// Elements that a receive brought, -1 where MPI does not say.
std::int64_t received(const void* status, Handle type) noexcept;
// Whether the world's communicator may be asked.
bool has_world() noexcept;
// Rank and size of the world, once MPI has started.
void note_world() noexcept;

}  // namespace byteways::watch::mpi
