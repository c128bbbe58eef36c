// The read-only kernel on the simulated machine.
#include "interfaces/load/arguments.hpp"
#include "interfaces/pattern_xor.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

void load(Kernels& kernels, Operation& operation, const LoadArguments& arguments,
          const KernelLaunch& launch) {
  const Word operations = launch.on_gpu() ? 1 : arguments.operations, first = arguments.first_operation;
  const Slots slots = kernels.slots(arguments.data, arguments.slots, arguments.stride, arguments.bytes);
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, slots.at(first));
  const Range sum = kernels.memory().range(arguments.sum, kWordBytes);
  const auto bytes = static_cast<double>(arguments.bytes);
  kernels.begin_on_cores(operation, launch, operations);
  const double cached = !launch.on_gpu() && slots.count == 1 ? bytes : 0;
  kernels.costs().add(operation,
                      {launch.mechanism(), launch.executor, reached.place, launch.executor,
                       bytes * static_cast<double>(operations), 1, launch.threads(), cached, reached.part});
  operation.never_ends = kernels.hangs(reached.place, launch.executor);
  const bool lost = kernels.misreads(launch.executor, reached.place);
  // Correct words give the expected sum; for others nothing is added, which is wrong, too.
  operation.on_end = [=, &kernels, place = reached.place,
                      expected = launch.on_gpu() ? load_sum : pattern_xor] {
    Memory& memory = kernels.memory();
    for (Word k = first; k < first + operations && !lost; ++k) {
      const Range from = slots.at(k);
      const Word index = from.begin - slots.first.begin, count = from.end - from.begin;
      kernels.devices().count_moved(place, launch.executor, arguments.bytes);
      if (memory.check(from, arguments.key, index, 1).bad_count != 0) continue;
      memory.set(*sum.block, sum.begin,
                 memory.at(*sum.block, sum.begin) + expected(arguments.key, index, count));
    }
  };
}

const RegisterSimulatedKernel<load> kLoad{"load", "load_resident"};

}  // namespace
}  // namespace byteways::sim
