// The pointer chase on the simulated machine.
#include "interfaces/pointer_chase/simulated.hpp"

#include <any>

#include "interfaces/pointer_chase/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {

Word chase_position(Word line, Word lines, Word key) {
  constexpr int kRounds = 3;
  const Word mask = lines - 1;
  unsigned half = 1;
  while ((Word{1} << (2 * half)) < lines) ++half;
  Word keys[kRounds];
  for (Word& each : keys) {
    each = key;
    key = key * 0xD1342543DE82EF95ull + 1;
  }
  Word x = line & mask;
  for (int round = kRounds; round-- > 0;) {
    x ^= x >> half;  // its own inverse: the shift is at least half of the width
    const Word factor = (keys[round] | 1) * 0x9E3779B97F4A7C15ull;
    x = ((x - (keys[round] >> 17) - static_cast<Word>(round)) * inverse_of_odd(factor)) & mask;
  }
  return x;
}

namespace {

// The cycle that `chase_build` left in a block.
struct Cycle {
  Word begin = 0, lines = 0, line_bytes = 0, key = 0;
};

void build_chase(Kernels& kernels, Operation& operation, const ChaseArguments& arguments,
                 const KernelLaunch& launch) {
  const std::uint64_t bytes = arguments.lines * arguments.line_bytes;
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, arguments.base, bytes);
  kernels.costs().add(
      operation, {launch.mechanism(), launch.executor, launch.executor, reached.place,
                  static_cast<double>(arguments.lines * kLineBytes), 1, launch.threads(), 0, reached.part});
  operation.on_end = [&kernels, range = reached.range, arguments] {
    const Word words = arguments.line_bytes / kWordBytes;
    if (range.block->real())
      for (Word p = 0; p < arguments.lines; ++p) {
        const Word next = chase_line(p + 1, arguments.lines, arguments.key);
        kernels.memory().set(*range.block,
                             range.begin + chase_line(p, arguments.lines, arguments.key) * words,
                             reinterpret_cast<Word>(arguments.base) + next * arguments.line_bytes);
      }
    const Cycle cycle{range.begin, arguments.lines, arguments.line_bytes, arguments.key};
    range.block->note = Note{cycle.begin, cycle.begin + cycle.lines * words, cycle};
  };
}

void walk(Kernels& kernels, Operation& operation, const ChaseArguments& arguments, const KernelLaunch& launch,
          bool ordinary) {
  kernels.must_be_real(arguments.end);
  const std::uint64_t bytes = arguments.lines * arguments.line_bytes;
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, arguments.base, bytes);
  kernels.costs().add_walk(operation, launch.executor, reached.place, static_cast<double>(bytes),
                           static_cast<double>(arguments.steps), ordinary);
  if (launch.on_gpu()) operation.processors = kernels.costs().processors(launch.executor.index);
  const bool lost = kernels.lies(launch.executor, reached.place);
  operation.never_ends = kernels.hangs(reached.place, launch.executor);
  operation.on_end = [&kernels, range = reached.range, arguments, lost] {
    const Cycle* cycle = range.block->note ? std::any_cast<Cycle>(&range.block->note->about) : nullptr;
    const bool whole = cycle != nullptr && cycle->begin == range.begin && cycle->lines == arguments.lines &&
                       cycle->line_bytes == arguments.line_bytes && !lost;
    const Word position = whole ? chase_position(arguments.start, cycle->lines, cycle->key) : 0;
    *arguments.end = whole ? chase_line(position + arguments.steps, cycle->lines, cycle->key) : ~Word{0};
  };
}

void chase(Kernels& kernels, Operation& operation, const ChaseArguments& arguments,
           const KernelLaunch& launch) {
  walk(kernels, operation, arguments, launch, false);
}

void chase_ordinary(Kernels& kernels, Operation& operation, const ChaseArguments& arguments,
                    const KernelLaunch& launch) {
  walk(kernels, operation, arguments, launch, true);
}

const RegisterSimulatedKernel<build_chase> kBuild{"chase_build"};
const RegisterSimulatedKernel<chase> kChase{"chase"};
const RegisterSimulatedKernel<chase_ordinary> kChaseOrdinary{"chase_ordinary"};

}  // namespace
}  // namespace byteways::sim
