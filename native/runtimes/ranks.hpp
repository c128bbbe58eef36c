// Ranks that measure a case together, whatever carries their words: processes of an MPI job (mpi/mpi.hpp) or
// threads of one process (thread_ranks.hpp).
#pragma once
#include <string>
#include <vector>

namespace byteways {

class Ranks {
 public:
  virtual ~Ranks() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Bytes of any length, which may differ between ranks. Collective: all ranks call the same in the same
  // order. Throws Error when the words do not get through.
  virtual std::string broadcast_bytes(std::string mine, int root) const = 0;
  virtual std::vector<std::string> gather_bytes(const std::string& mine) const = 0;  // to every rank
  // Returns when all ranks have called it.
  virtual void barrier() const { gather_bytes({}); }

 protected:
  Ranks() = default;
  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  Ranks(const Ranks&) = default;
  Ranks& operator=(const Ranks&) = default;
  int rank_ = 0, size_ = 1;
};

}  // namespace byteways
