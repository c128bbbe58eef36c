// The write-only kernel on the simulated machine.
#include <algorithm>

#include "interfaces/store/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

template <bool constant>
void store(Kernels& kernels, Operation& operation, const StoreArguments& arguments,
           const KernelLaunch& launch) {
  const Word operations = launch.on_gpu() ? 1 : arguments.operations, first = arguments.first_operation;
  const Slots slots = kernels.slots(arguments.data, arguments.slots, arguments.stride, arguments.bytes);
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, slots.at(first));
  const auto bytes = static_cast<double>(arguments.bytes);
  kernels.begin_on_cores(operation, launch, operations);
  const double cached = !launch.on_gpu() && slots.count == 1 ? bytes : 0;
  kernels.costs().add(operation,
                      {launch.mechanism(), launch.executor, launch.executor, reached.place,
                       bytes * static_cast<double>(operations), 1, launch.threads(), cached, reached.part});
  operation.never_ends = kernels.hangs(launch.executor, reached.place);
  const Word different = std::min(operations, slots.count);  // further ones have no effect
  operation.on_end = [=, &kernels, place = reached.place] {
    for (Word k = first + operations - different; k < first + operations; ++k) {
      const Range to = slots.at(k);
      kernels.devices().count_moved(launch.executor, place, arguments.bytes);
      kernels.deliver(to, launch.executor, launch.executor, [&] {
        if (constant)
          kernels.memory().poison(to, 0x0101010101010101ull * (arguments.key & 0xFF), 1);
        else
          kernels.memory().fill(to, arguments.key, to.begin - slots.first.begin, 1);
      });
    }
  };
}

const RegisterSimulatedKernel<store<false>> kStore{"store", "store_tiled", "store_resident"};
const RegisterSimulatedKernel<store<true>> kMemset{"memset"};

}  // namespace
}  // namespace byteways::sim
