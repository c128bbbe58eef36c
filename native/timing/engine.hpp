// What carries a copy out is observed, not assumed: while every multiprocessor of the executor is held by a
// spinning kernel, a copy that completes was done by something else. The rules of the vendor's runtime, where
// it has any (EngineChoice::rule), are held against that, and stand in where nothing can be observed.
#pragma once
#include <string>

#include "timing/flow_runner.hpp"

namespace byteways {

struct EngineFinding {
  std::string engine;  // "copy-engine", "kernel", "staged", "unknown"
  std::string evidence;
};

// `flow` is what the flow's mover was made from. What was found is kept in the session: the question is asked
// once.
EngineFinding observe_engine(Session& session, FlowRunner& runner, const Flow& flow);

}  // namespace byteways
