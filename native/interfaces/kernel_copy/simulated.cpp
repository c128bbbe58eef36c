// The copy kernels on the simulated machine.
#include <algorithm>

#include "interfaces/kernel_copy/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

template <Mechanism mechanism>
void copy(Kernels& kernels, Operation& operation, const CopyArguments& arguments,
          const KernelLaunch& launch) {
  const bool cores = !launch.on_gpu();
  const Word operations = cores ? arguments.operations : 1;
  const Slots sources =
      kernels.slots(arguments.source, arguments.source_slots, arguments.source_stride, arguments.bytes);
  const Slots destinations = kernels.slots(arguments.destination, arguments.destination_slots,
                                           arguments.destination_stride, arguments.bytes);
  const Word first = arguments.first_operation;
  const Kernels::Reach from = kernels.reach(operation, launch.executor, sources.at(first));
  const Kernels::Reach to = kernels.reach(operation, launch.executor, destinations.at(first));
  const bool warm = cores && sources.count == 1 && destinations.count == 1;
  // Operations that use the same slots again have no further effect.
  const Word different = std::min(operations, std::max(sources.count, destinations.count));
  for (Word k = first + 1; k < first + different; ++k)
    for (const Slots* slots : {&sources, &destinations})
      kernels.reach(operation, launch.executor, slots->at(k));
  kernels.begin_on_cores(operation, launch, operations);
  kernels.costs().add(operation,
                      {mechanism, launch.executor, from.place, to.place,
                       static_cast<double>(arguments.bytes) * static_cast<double>(operations), 2,
                       mechanism == Mechanism::bulk ? launch.shape.blocks : launch.threads(),
                       warm ? 2.0 * static_cast<double>(arguments.bytes) : 0, std::min(from.part, to.part)});
  operation.never_ends = kernels.hangs(from.place, to.place);
  // As on a device: without a stage, or with too few chunks, nothing or not all is copied.
  const Word covered = arguments.chunks * arguments.chunk_bytes;
  if (mechanism == Mechanism::bulk && (arguments.stages == 0 || covered < arguments.bytes / 16 * 16)) return;
  operation.on_end = [=, &kernels] {
    for (Word k = first + operations - different; k < first + operations; ++k)
      kernels.move(destinations.at(k), sources.at(k), launch.executor);
  };
}

const RegisterSimulatedKernel<copy<Mechanism::kernel>> kCopy{"copy", "copy_tiled", "copy_resident"};
const RegisterSimulatedKernel<copy<Mechanism::bulk>> kBulk{"copy_bulk"};
const RegisterSimulatedKernel<copy<Mechanism::core>> kMemcpy{"memcpy"};
const RegisterSimulatedKernel<copy<Mechanism::streaming_core>> kMemcpyStream{"memcpy_stream"};

}  // namespace
}  // namespace byteways::sim
