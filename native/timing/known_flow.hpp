// What the warm-up of a flow found out. The rounds of a case repeat its flows in one session, and concurrent
// cases repeat flows that were measured alone: only the first warm-up has to find out.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "timing/flow_runner.hpp"

namespace byteways {

struct MeasureOptions;

struct KnownFlow {
  // By learn_flow(): how completion is detected, why, and the time of an operation. 0: not yet.
  Completion completion = Completion::queued;
  std::string staged, unobservable;
  double operation_ns = 0;
  // By the sampler of a single flow: its batch, and the time below which that is too short. 0: not yet.
  std::uint64_t batch = 0, repeats = 1;
  bool slope = false, gated = true;
  double held_ns = 0, timed_part = 1, least_ns = 0;
  // By the warm-up: the time of a batch, or of a run of concurrent flows, when it was steady. 0: not yet.
  double steady_ns = 0;
  // By the case: what checking all words costs, and filling the buffers anew. 0: not yet.
  double verification_ns = 0, preparation_ns = 0;
};

// Returns what the session knows about a flow that is measured by these options, to read and to complete.
// Buffers count by device, memory and size: those of another round are others.
std::shared_ptr<KnownFlow> known_flow(Session& session, const Flow& flow, const MeasureOptions& options);
// The same of flows that run together; of a single one, what is known about that.
std::shared_ptr<KnownFlow> known_case(Session& session, const std::vector<Flow>& flows,
                                      const MeasureOptions& options);

}  // namespace byteways
