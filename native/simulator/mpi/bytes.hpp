// The bytes of messages, at any address: in a block of the simulated machine, or in plain memory of the
// program that the machine does not know (a vector of it). Nothing here takes time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/machine/kernels.hpp"
#include "simulator/memory/memory.hpp"

namespace byteways::sim::mpi {

// Bytes of an element of BytewaysElement; 0: there is no such element.
std::uint64_t element_bytes(int element);

// A buffer as MPI looks at it.
struct End {
  void* data = nullptr;  // null: a buffer of the library
  Place place;           // whose memory it is in
  bool device = false;   // a GPU's
  bool system_pages = true;
  double core_part = 1;  // of a core's rate in another domain's memory
};

class Bytes {
 public:
  explicit Bytes(Kernels& kernels) : kernels_(&kernels), memory_(&kernels.memory()) {}

  // `place`: of memory that the machine does not know. Throws Failure (invalid) when the bytes leave a block.
  End end(const void* data, std::uint64_t bytes, Place place) const;
  std::vector<std::byte> read(const void* from, std::uint64_t bytes) const;
  void write(void* to, const std::vector<std::byte>& bytes);
  // As a copy by `executor` would: faults of the way may change it, and counters see it.
  void copy(void* to, const void* from, std::uint64_t bytes, Place executor);
  // to[i] += from[i].
  void add(void* to, const void* from, std::uint64_t bytes, int element);

 private:
  Kernels* kernels_;
  Memory* memory_;
};

}  // namespace byteways::sim::mpi
