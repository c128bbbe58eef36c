// 2D copies on the simulated machine.
#include <algorithm>

#include "interfaces/copy_2d/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

void copy_2d(Kernels& kernels, Operation& operation, const Copy2dArguments& arguments,
             const KernelLaunch& launch) {
  const bool cores = !launch.on_gpu();
  const Word operations = cores ? arguments.operations : 1, slots = std::max<Word>(1, arguments.slots);
  const Word first = arguments.first_operation;
  const RowsShape rows{arguments.rows, arguments.width_bytes / kWordBytes,
                       arguments.destination_pitch / kWordBytes, arguments.source_pitch / kWordBytes};
  const Slots sources =
      kernels.slots(arguments.source, slots, arguments.stride, arguments.rows * arguments.source_pitch);
  const Slots destinations = kernels.slots(arguments.destination, slots, arguments.stride,
                                           arguments.rows * arguments.destination_pitch);
  const Kernels::Reach from = kernels.reach(operation, launch.executor, sources.at(first));
  const Kernels::Reach to = kernels.reach(operation, launch.executor, destinations.at(first));
  kernels.begin_on_cores(operation, launch, operations);
  const double bytes = bytes_of_rows(rows) * static_cast<double>(operations);
  kernels.costs().add(
      operation,
      Transfer{launch.mechanism(), launch.executor, from.place, to.place, bytes, 2, launch.threads(),
               cores && slots == 1 ? 2 * bytes / static_cast<double>(operations) : 0,
               std::min(from.part, to.part)});
  operation.never_ends = kernels.hangs(from.place, to.place);
  const Word different = std::min(operations, slots);  // further ones have no effect
  operation.on_end = [=, &kernels] {
    for (Word k = first + operations - different; k < first + operations; ++k) {
      kernels.devices().count_moved(from.place, to.place, arguments.rows * arguments.width_bytes);
      kernels.move_rows(destinations.at(k), sources.at(k), rows, launch.executor);
    }
  };
}

void check_2d(Kernels& kernels, Operation& operation, const Check2dArguments& arguments,
              const KernelLaunch& launch) {
  kernels.must_be_real(arguments.result);
  const RowsShape rows{arguments.rows, arguments.row_words, arguments.pitch_words,
                       arguments.source_pitch_words};
  const std::uint64_t bytes = arguments.count * kWordBytes;
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, arguments.words, bytes);
  kernels.costs().add(operation, Transfer{launch.mechanism(), launch.executor, reached.place, launch.executor,
                                          static_cast<double>(bytes), 1, launch.threads(), 0, reached.part});
  const bool lost = kernels.lies(launch.executor, reached.place);
  operation.on_end = [&kernels, range = reached.range, arguments, rows, lost] {
    CheckResult found =
        kernels.memory().check_rows(range, arguments.slot_words, rows, arguments.key, arguments.gap);
    if (lost) found = {arguments.count, 0, pattern_word(arguments.key, 0), 0};
    *arguments.result = found;
  };
}

const RegisterSimulatedKernel<copy_2d> kCopy2d{"copy_2d", "copy_2d_tiled", "copy_2d_resident", "memcpy_2d"};
const RegisterSimulatedKernel<check_2d> kCheck2d{"check_2d"};

}  // namespace
}  // namespace byteways::sim
