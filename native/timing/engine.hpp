// Observes which engine executes a copy: if a copy completes while a spinning kernel holds every
// multiprocessor of the executor, the multiprocessors did not execute it. The observation is compared with
// the rules of the vendor's runtime, if it has any (EngineChoice::rule); the rule is used if nothing can be
// observed.
#pragma once
#include <string>

#include "timing/flow_runner.hpp"

namespace byteways {

struct EngineFinding {
  std::string engine;  // "copy-engine", "kernel", "staged", "unknown"
  std::string evidence;
  bool changed_data = false;  // words that the case does not write were written: fill the buffers again
};

// `flow` is the flow that the runner's mover was made from. The session caches the result.
EngineFinding observe_engine(Session& session, FlowRunner& runner, const Flow& flow);

}  // namespace byteways
