// The arithmetic kernel on the simulated machine.
#include <algorithm>

#include "interfaces/compute/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

void compute(Kernels& kernels, Operation& operation, const ComputeArguments& arguments,
             const KernelLaunch& launch) {
  const Kernels::Reach reached =
      kernels.reach(operation, launch.executor, arguments.words, arguments.count * kWordBytes);
  const bool on_gpu = launch.on_gpu();
  const Word items = on_gpu ? Word{launch.shape.blocks} * launch.shape.threads : launch.shape.blocks;
  constexpr double kInstructionsPerStep = 2;
  const double steps = kInstructionsPerStep * kComputeChains * arguments.steps;
  operation.fixed += picoseconds(kernels.costs().arithmetic_ns(
      launch.executor, steps, static_cast<double>(items), static_cast<double>(launch.shape.blocks)));
  if (on_gpu) operation.processors = kernels.costs().processors(launch.executor.index);
  const bool lost = kernels.lies(launch.executor, reached.place);
  Range written = reached.range;
  written.end = written.begin + std::min(arguments.count, items);
  operation.on_end = [&kernels, written, key = arguments.key, lost] {
    if (!lost) kernels.memory().fill(written, key, 0, 1);
  };
}

const RegisterSimulatedKernel<compute> kCompute{"compute"};

}  // namespace
}  // namespace byteways::sim
