// A loop of fixed length, as another program runs and reports it (OSU Micro-Benchmarks). The planner knows
// how many iterations it has (src/byteways/cases/osu.py).
#pragma once
#include <cstdint>

#include "interfaces/flow.hpp"

namespace byteways {

// When the ranks meet in a barrier, which is never timed.
enum class Meet { before_the_loop, before_each_iteration, after_each_iteration };

struct FixedLoop {
  std::uint64_t skipped = 0;     // iterations before those that are timed
  std::uint64_t iterations = 0;  // timed; 0: the samplers choose how many operations they time
  std::uint64_t operations = 1;  // of an iteration
  Meet meet = Meet::before_the_loop;
  bool mean_of_ranks = false;  // every rank times its own calls; else the first rank alone has a clock
};

// The loop of OSU's program for the flow; one without iterations unless the flow asks for it (`timing`).
FixedLoop osu_loop(const Flow& flow);

}  // namespace byteways
