// Keeps flows going for as long as somebody wants to watch the machine at it: nothing is timed here,
// operations are only counted.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "timing/lanes.hpp"

namespace byteways {

class Sustainer {
 public:
  // A slice of work takes about `slice_s`; the caller has that long between two calls of step() until queues
  // run dry. Throws Unsupported for flows that cannot go on by themselves.
  Sustainer(Session& session, const std::vector<Flow>& flows, double slice_s);
  Sustainer(const Sustainer&) = delete;
  Sustainer& operator=(const Sustainer&) = delete;

  // Enqueues another slice on every flow, then waits until the one before is done.
  void step();
  // Waits for all that is enqueued.
  void finish();
  // Operations of each flow that are done for certain.
  std::vector<std::uint64_t> operations() const;
  // Bytes that those moved, of all flows.
  double moved_bytes() const;

 private:
  struct Going {
    Lane lane;
    std::unique_ptr<Event> ends[2];  // of the slice in hand and of the one before
    std::uint64_t slice = 1;         // operations
    std::uint64_t enqueued = 0, done = 0;
  };
  void wait_for(Going& going, std::uint64_t slice_number);

  std::vector<Going> flows_;
  std::uint64_t slices_ = 0;
};

}  // namespace byteways
