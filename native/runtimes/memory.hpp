// The memory part of a runtime. Optional functions are capabilities (capabilities.hpp).
#pragma once
#include <cstdint>
#include <memory>

#include "core/availability.hpp"
#include "memory/allocation.hpp"

namespace byteways {

class MemoryInterface {
 public:
  virtual Availability offers(Memory memory, int device) = 0;
  // `numa_domain` places host memory (-1: leave it to first touch).
  virtual std::unique_ptr<Allocation> allocate(Memory memory, int device, std::uint64_t bytes,
                                               int numa_domain) = 0;
  // Returns the free memory of the device in bytes; 0: unknown.
  virtual std::uint64_t free_bytes(int device) = 0;

 protected:
  ~MemoryInterface() = default;
};

}  // namespace byteways
