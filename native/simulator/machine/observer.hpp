// What somebody beside the program wants to know of what happens in the simulated machine: the profiling
// interfaces of vendors (vendors/rocprofiler.cpp).
#pragma once
#include <cstdint>

#include "simulator/machine/common.hpp"

namespace byteways::sim {

// Times are of the host's virtual clock, in ns.
class Observer {
 public:
  virtual ~Observer() = default;
  // Answers what names the call of this thread that is under way; ended_copy() gets it back.
  virtual std::uint64_t call() = 0;

  struct Copy {
    Place from, to;
    const void *source, *destination;
    std::uint64_t bytes;
    bool by_kernel;  // of the runtime; else by an engine
    std::uint64_t call;
    std::int64_t start_ns, end_ns;
  };
  // Called with the machine's mutex held: they call nothing of it.
  virtual void ended_copy(const Copy& copy) = 0;
  virtual void allocated(Place owner, const void* data, std::uint64_t bytes, std::int64_t start_ns,
                         std::int64_t end_ns) = 0;
  virtual void released(Place owner, const void* data, std::int64_t start_ns, std::int64_t end_ns) = 0;
};

}  // namespace byteways::sim
