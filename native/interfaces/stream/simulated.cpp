// The STREAM kernels and their verification on the simulated machine.
#include <algorithm>

#include "interfaces/stream/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

template <StreamOperation wanted>
void stream(Kernels& kernels, Operation& operation, const StreamArguments& arguments,
            const KernelLaunch& launch) {
  constexpr bool two = wanted == kStreamAdd || wanted == kStreamTriad;
  const bool cores = !launch.on_gpu();
  const Word operations = cores ? arguments.operations : 1, slots = std::max<Word>(1, arguments.slots);
  const Word first = arguments.first_operation;
  Pass pass{launch.executor, {}, {}, static_cast<double>(arguments.bytes) * static_cast<double>(operations)};
  pass.threads = launch.threads();
  const auto array = [&](const void* base, std::vector<Place>& places) {
    const Slots all = kernels.slots(base, slots, arguments.stride, arguments.bytes);
    const Kernels::Reach reached = kernels.reach(operation, launch.executor, all.at(first));
    pass.part = std::min(pass.part, reached.part);
    places.push_back(reached.place);
    return all;
  };
  std::vector<Place> written;
  const Slots a = array(arguments.first, pass.reads);
  const Slots b = two ? array(arguments.second, pass.reads) : Slots{{}, 1, 0};
  const Slots to = array(arguments.destination, written);
  pass.write = written.front();
  if (cores && slots == 1) pass.cached_bytes = (two ? 3.0 : 2.0) * static_cast<double>(arguments.bytes);
  kernels.begin_on_cores(operation, launch, operations);
  kernels.costs().add(operation, pass);
  for (const Place& place : pass.reads)
    operation.never_ends = operation.never_ends || kernels.hangs(place, pass.write);
  const Word different = std::min(operations, slots);  // further ones have no effect
  operation.on_end = [=, &kernels] {
    for (Word k = first + operations - different; k < first + operations; ++k) {
      for (const Place& place : pass.reads)
        kernels.devices().count_moved(place, launch.executor, arguments.bytes);
      kernels.devices().count_moved(launch.executor, pass.write, arguments.bytes);
      const Range into = to.at(k), from = a.at(k), and_from = b.at(k);
      kernels.deliver(into, from, launch.executor,
                      [&] { kernels.memory().stream(wanted, into, from, and_from); });
    }
  };
}

template <bool checks>
void stream_pattern(Kernels& kernels, Operation& operation, const StreamPatternArguments& arguments,
                    const KernelLaunch& launch) {
  if (checks) kernels.must_be_real(arguments.result);
  const std::uint64_t bytes = arguments.count * kWordBytes;
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, arguments.words, bytes);
  kernels.costs().add(operation,
                      Transfer{launch.mechanism(), launch.executor, checks ? reached.place : launch.executor,
                               checks ? launch.executor : reached.place, static_cast<double>(bytes), 1,
                               launch.threads(), 0, reached.part});
  const bool lost = kernels.lies(launch.executor, reached.place);
  operation.on_end = [&kernels, range = reached.range, arguments, lost] {
    if (checks) {
      CheckResult found = kernels.memory().check_doubles(range, arguments.operation, arguments.key,
                                                         arguments.second_key, arguments.first_index);
      if (lost) found = {arguments.count, 0, stream_word(pattern_word(arguments.key, 0)), 0};
      *arguments.result = found;
    } else if (!lost) {
      kernels.memory().fill_doubles(range, arguments.key, arguments.first_index);
    }
  };
}

const RegisterSimulatedKernel<stream<kStreamCopy>> kStreamCopyKernel{"stream_copy", "stream_copy_resident"};
const RegisterSimulatedKernel<stream<kStreamScale>> kStreamScaleKernel{"stream_scale",
                                                                       "stream_scale_resident"};
const RegisterSimulatedKernel<stream<kStreamAdd>> kStreamAddKernel{"stream_add", "stream_add_resident"};
const RegisterSimulatedKernel<stream<kStreamTriad>> kStreamTriadKernel{"stream_triad",
                                                                       "stream_triad_resident"};
const RegisterSimulatedKernel<stream_pattern<false>> kStreamFillKernel{"stream_fill"};
const RegisterSimulatedKernel<stream_pattern<true>> kStreamCheckKernel{"stream_check"};

}  // namespace
}  // namespace byteways::sim
