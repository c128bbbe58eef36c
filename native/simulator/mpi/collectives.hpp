// The collectives of the simulated MPI, made of messages by the textbook's algorithms (Thakur, Rabenseifner,
// Gropp: Optimization of Collective Communication Operations in MPICH, 2005). Reductions add for real, at the
// cost of a core's or a GPU's pass over both operands.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/mpi/mpi.hpp"

namespace byteways::sim::mpi {

// One collective call of a rank. Sizes of blocks are in bytes.
class Collective {
 public:
  Collective(Mpi& mpi, Call& call);

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Comm& comm() const { return comm_; }
  std::uint64_t number() const { return call_->number; }

  void barrier();
  void broadcast(void* data, std::uint64_t bytes, int root);
  // A source of nullptr: in place, in the destination; in scatter a destination of nullptr. `element`: of
  // BytewaysElement.
  void reduce(const void* source, void* destination, std::uint64_t bytes, int element, int root);
  void allreduce(const void* source, void* destination, std::uint64_t bytes, int element);
  void reduce_scatter(const void* source, void* destination, std::uint64_t block, int element);
  void allgather(const void* source, void* destination, std::uint64_t block);
  void gather(const void* source, void* destination, std::uint64_t block, int root);
  void scatter(const void* source, void* destination, std::uint64_t block, int root);
  void alltoall(const void* source, void* destination, std::uint64_t block);

 private:
  using Pending = std::shared_ptr<Request>;
  Route route(int from, int to, std::uint64_t step) const;
  Pending start_send(int to, const void* data, std::uint64_t bytes, std::uint64_t step);
  Pending start_receive(int from, void* data, std::uint64_t bytes, std::uint64_t step);
  void send(int to, const void* data, std::uint64_t bytes, std::uint64_t step);
  void publish(const void* data, std::uint64_t bytes);  // to all others
  void receive(int from, void* data, std::uint64_t bytes, std::uint64_t step);
  void exchange(int to, const void* out, std::uint64_t out_bytes, int from, void* in, std::uint64_t in_bytes,
                std::uint64_t step);
  // Of this rank alone, and waited for.
  void copy(void* to, const void* from, std::uint64_t bytes);
  void add(void* to, const void* from, std::uint64_t bytes, int element);
  bool is_device(const void* data, std::uint64_t bytes) const;
  // Whether the library adds these up in host memory: device memory that it sums by no kernel.
  bool reduced_on_host(const void* data, std::uint64_t bytes) const;
  void combine(void* data, std::uint64_t bytes, int element);  // allreduce in place
  void allreduce_by_doubling(void* data, std::uint64_t bytes, int element);
  void allreduce_by_halving(void* data, std::uint64_t bytes, int element);
  void allreduce_by_ring(void* data, std::uint64_t bytes, int element);
  void check_root(int root) const;
  int beside(int distance) const { return ((rank_ + distance) % size_ + size_) % size_; }

  Mpi* mpi_;
  Call* call_;
  const Comm comm_;
  int rank_, size_;
};

}  // namespace byteways::sim::mpi
