// What carries a copy out is observed, not assumed: while every multiprocessor of the executor is held by a
// spinning kernel, a copy that completes was done by something else.
#pragma once
#include <string>

#include "timing/lanes.hpp"

namespace byteways {

struct EngineFinding {
  std::string engine;  // "copy-engine", "kernel", "staged", "unknown"
  std::string evidence;
};

EngineFinding observe_engine(Session& session, Lane& lane);

}  // namespace byteways
