// See fixed_loop.hpp. Read in the sources of OSU Micro-Benchmarks 7.3: c/mpi/pt2pt/standard and
// c/mpi/collective/blocking.
#include "interfaces/fixed_loop.hpp"

#include <algorithm>

namespace byteways {

FixedLoop osu_loop(const Flow& flow) {
  FixedLoop loop;
  if (flow.word("timing") != "osu") return loop;
  loop.skipped = static_cast<std::uint64_t>(std::max<std::int64_t>(0, flow.number("skipped")));
  loop.iterations = flow.count("iterations", 1);
  const std::string operation = flow.word("operation");
  if (operation == "multi-pair") {
    loop.meet = Meet::before_each_iteration;  // osu_mbw_mr
  } else if (operation != "unidirectional" && operation != "bidirectional") {
    loop.mean_of_ranks = true;
    if (operation != "barrier") loop.meet = Meet::after_each_iteration;
  }
  return loop;
}

}  // namespace byteways
