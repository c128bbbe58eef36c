// The gate, the data, the occupation and the pause kernel on the simulated machine.
#include <atomic>

#include "interfaces/service/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

void gate(Kernels& kernels, Operation& operation, const GateArguments& arguments, const KernelLaunch&) {
  kernels.must_be_real(arguments.word);
  operation.latch = {arguments.word, arguments.target, -1};
}

void occupy(Kernels& kernels, Operation& operation, const OccupyArguments& arguments,
            const KernelLaunch& launch) {
  kernels.must_be_real(arguments.word);
  kernels.must_be_real(arguments.running);
  operation.latch = {arguments.word, arguments.target, -1};
  operation.processors = kernels.costs().processors(launch.executor.index);
  operation.all_processors = true;
  operation.on_start = [running = arguments.running, blocks = launch.shape.blocks] {
    std::atomic_ref<unsigned int>(*running).fetch_add(blocks);
  };
}

void idle(Kernels& kernels, Operation& operation, const IdleArguments& arguments,
          const KernelLaunch& launch) {
  operation.fixed += picoseconds(static_cast<double>(arguments.nanoseconds));
  if (launch.on_gpu()) operation.processors = kernels.costs().processors(launch.executor.index);
}

CheckResult what_check_finds(Memory& memory, const Range& range, const PatternArguments& arguments) {
  const auto& a = arguments;
  if (const PatternSum sum = sum_of(a); !sum.is_pattern())
    return memory.check_sum(range, sum, a.first_index, a.stride);
  if (a.mask != ~Word{0}) return memory.check_bits(range, a.key, a.first_index, a.stride, a.mask, a.rest);
  return memory.check(range, a.key, a.first_index, a.stride);
}

enum class Data { fill, poison, check };

template <Data what>
void pattern(Kernels& kernels, Operation& operation, const PatternArguments& arguments,
             const KernelLaunch& launch) {
  constexpr bool checks = what == Data::check;
  if (checks) kernels.must_be_real(arguments.result);
  const Kernels::Reach reached =
      kernels.reach(operation, launch.executor, arguments.words, arguments.count * kWordBytes);
  const auto touched = arguments.stride > 1
                           ? static_cast<double>((arguments.count / arguments.stride + 1) * kLineBytes)
                           : static_cast<double>(arguments.count * kWordBytes);
  kernels.costs().add(
      operation, {launch.mechanism(), launch.executor, checks ? reached.place : launch.executor,
                  checks ? launch.executor : reached.place, touched, 1, launch.threads(), 0, reached.part});
  const bool lost = kernels.lies(launch.executor, reached.place);
  operation.on_end = [&kernels, range = reached.range, arguments, lost] {
    if (checks) {
      CheckResult found = what_check_finds(kernels.memory(), range, arguments);
      if (lost) found = {arguments.count, 0, pattern_word(arguments.key, arguments.first_index), 0};
      *arguments.result = found;
    } else if (lost) {
      return;
    } else if (what == Data::fill) {
      kernels.memory().fill(range, arguments.key, arguments.first_index, arguments.stride);
    } else {
      kernels.memory().poison(range, arguments.key, arguments.stride);
    }
  };
}

const RegisterSimulatedKernel<gate> kGate{"gate"};
const RegisterSimulatedKernel<occupy> kOccupy{"occupy"};
const RegisterSimulatedKernel<idle> kIdle{"idle"};
const RegisterSimulatedKernel<pattern<Data::fill>> kFill{"fill"};
const RegisterSimulatedKernel<pattern<Data::poison>> kPoison{"poison"};
const RegisterSimulatedKernel<pattern<Data::check>> kCheck{"check"};

}  // namespace
}  // namespace byteways::sim
