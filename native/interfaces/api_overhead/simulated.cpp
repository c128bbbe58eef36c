// The empty kernel on the simulated machine.
#include "interfaces/api_overhead/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

// Takes as long as a copy of no bytes: the cost of a launch that follows another.
void empty(Kernels& kernels, Operation& operation, const EmptyArguments& arguments,
           const KernelLaunch& launch) {
  operation.fixed += picoseconds(kernels.costs().launch_ns(launch.executor, launch.shape.blocks));
  if (launch.on_gpu()) operation.processors = kernels.costs().processors(launch.executor.index);
  if (arguments.word == nullptr) return;
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, arguments.word, kWordBytes);
  operation.on_end = [&kernels, range = reached.range, value = arguments.value] {
    kernels.memory().set(*range.block, range.begin, value);
  };
}

const RegisterSimulatedKernel<empty> kEmpty{"empty"};

}  // namespace
}  // namespace byteways::sim
