// The memory part of a runtime. Optional functions are capabilities (capabilities.hpp).
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/availability.hpp"
#include "memory/allocation.hpp"

namespace byteways {

class MemoryInterface {
 public:
  virtual Availability offers(Memory memory, int device) = 0;
  // As offers(), asked once: an allocation that is timed must not include queries of the driver.
  const Availability& offered(Memory memory, int device) {
    const std::lock_guard lock(offered_mutex_);
    const auto found = offered_.find({memory, device});
    if (found != offered_.end()) return found->second;
    return offered_.emplace(std::pair{memory, device}, offers(memory, device)).first->second;
  }
  // `numa_domain` places host memory (-1: leave it to first touch).
  virtual std::unique_ptr<Allocation> allocate(Memory memory, int device, std::uint64_t bytes,
                                               int numa_domain) = 0;
  // Returns the free memory of the device in bytes; 0: unknown.
  virtual std::uint64_t free_bytes(int device) = 0;

 protected:
  ~MemoryInterface() = default;

 private:
  std::mutex offered_mutex_;
  std::map<std::pair<Memory, int>, Availability> offered_;
};

}  // namespace byteways
