// The kernels of random access on the simulated machine. Whatever an access needs of it, a transaction moves
// whole sectors or lines, and cores wait for as many misses as they can have at once. TLB misses are left
// out.
#include <algorithm>

#include "interfaces/pattern_xor.hpp"
#include "interfaces/random_access/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

// Bytes of a transaction of a GPU: a sector of 32 (CUDA C++ Best Practices Guide, "Coalesced Access to Global
// Memory"), and at most 64 (AMD Instinct MI200 performance counters, TCC_EA_RDREQ).
constexpr double kSectorBytes = 32, kRequestBytes = 64;
// One launch, as all three kernels see it.
struct Accesses {
  Word first, operations;
  Slots slots;
  Kernels::Reach reached;
  double bytes;         // that transactions move in all operations, one way
  double threads;       // of a copy with as many bytes in flight
  double cached_bytes;  // working set that stays in a core's caches, 0: none
};

Accesses accesses_of(Kernels& kernels, Operation& operation, const RandomArguments& arguments,
                     const KernelLaunch& launch) {
  const Word operations = launch.on_gpu() ? 1 : arguments.operations;
  const Slots slots = kernels.slots(arguments.data, arguments.slots, arguments.stride, arguments.bytes);
  const double line = !launch.on_gpu()                     ? static_cast<double>(kLineBytes)
                      : kernels.model().vendor == "nvidia" ? kSectorBytes
                                                           : kRequestBytes;
  const double amplified = std::max(1.0, line / arguments.access_bytes);
  const auto bytes = static_cast<double>(arguments.bytes);
  kernels.begin_on_cores(operation, launch, operations);
  const double in_flight =
      kRandomInFlight * std::max(line, std::min(kAccessBytes, arguments.access_bytes) * 1.0);
  return {arguments.first_operation,
          operations,
          slots,
          kernels.reach(operation, launch.executor, slots.at(arguments.first_operation)),
          bytes * amplified * static_cast<double>(operations),
          launch.on_gpu() ? launch.threads() * in_flight / (kCopyInFlight * kAccessBytes) : launch.threads(),
          !launch.on_gpu() && slots.count == 1 ? bytes : 0};
}

// A core's rate is at most that of its misses in flight.
void limit_by_misses(Kernels& kernels, Operation& operation, const RandomArguments& arguments,
                     const KernelLaunch& launch, const Accesses& accesses) {
  if (launch.on_gpu()) return;
  const double working_set =
      static_cast<double>(arguments.bytes) * static_cast<double>(std::max<Word>(1, accesses.slots.count));
  const double most =
      accesses.threads * kernels.costs().scattered_rate(launch.executor, accesses.reached.place, working_set);
  operation.flow.cap = operation.flow.cap > 0 ? std::min(operation.flow.cap, most) : most;
}

void random_load(Kernels& kernels, Operation& operation, const RandomArguments& arguments,
                 const KernelLaunch& launch) {
  const Accesses all = accesses_of(kernels, operation, arguments, launch);
  const Place place = all.reached.place;
  const Range right = kernels.memory().range(arguments.right, kWordBytes);
  kernels.costs().add(operation, {launch.mechanism(), launch.executor, place, launch.executor, all.bytes, 1,
                                  all.threads, all.cached_bytes, all.reached.part});
  limit_by_misses(kernels, operation, arguments, launch, all);
  operation.never_ends = kernels.hangs(place, launch.executor);
  const bool lost = kernels.misreads(launch.executor, place);
  // Words that are all right give what is expected; for others nothing is added, which is wrong, too.
  operation.on_end = [=, &kernels] {
    Memory& memory = kernels.memory();
    const Word pieces = arguments.bytes / std::min<Word>(arguments.access_bytes, kWordBytes);
    const bool on_gpu = launch.on_gpu();
    for (Word k = all.first; k < all.first + all.operations && !lost; ++k) {
      const Range from = all.slots.at(k);
      kernels.devices().count_moved(place, launch.executor, arguments.bytes);
      const Word index = from.begin - all.slots.first.begin;
      if (memory.check(from, arguments.key, index, 1).bad_count != 0) continue;
      const Word found = on_gpu ? pieces
                                : elements_xor(pattern_xor(arguments.key, index, from.end - from.begin),
                                               arguments.access_bytes);
      memory.set(*right.block, right.begin, memory.at(*right.block, right.begin) + found);
    }
  };
}

void random_store(Kernels& kernels, Operation& operation, const RandomArguments& arguments,
                  const KernelLaunch& launch) {
  const Accesses all = accesses_of(kernels, operation, arguments, launch);
  const Place place = all.reached.place;
  kernels.costs().add(operation, {launch.mechanism(), launch.executor, launch.executor, place, all.bytes, 1,
                                  all.threads, all.cached_bytes, all.reached.part});
  limit_by_misses(kernels, operation, arguments, launch, all);
  operation.never_ends = kernels.hangs(launch.executor, place);
  const Word different = std::min(all.operations, all.slots.count);  // further ones have no effect
  operation.on_end = [=, &kernels] {
    for (Word k = all.first + all.operations - different; k < all.first + all.operations; ++k) {
      const Range to = all.slots.at(k);
      kernels.devices().count_moved(launch.executor, place, arguments.bytes);
      kernels.deliver(to, launch.executor, launch.executor,
                      [&] { kernels.memory().fill(to, arguments.key, to.begin - all.slots.first.begin, 1); });
    }
  };
}

void random_update(Kernels& kernels, Operation& operation, const RandomArguments& arguments,
                   const KernelLaunch& launch) {
  const Accesses all = accesses_of(kernels, operation, arguments, launch);
  const Place place = all.reached.place;
  kernels.costs().add(
      operation,
      Pass{launch.executor, {place}, place, all.bytes, all.threads, all.cached_bytes, all.reached.part});
  limit_by_misses(kernels, operation, arguments, launch, all);
  operation.never_ends = kernels.hangs(launch.executor, place);
  // Words of one pattern become those of the next. Others stay as they are: wrong before and after.
  operation.on_end = [=, &kernels] {
    Memory& memory = kernels.memory();
    for (Word k = all.first; k < all.first + all.operations; ++k) {
      const Range slot = all.slots.at(k);
      kernels.devices().count_moved(place, launch.executor, arguments.bytes);
      kernels.devices().count_moved(launch.executor, place, arguments.bytes);
      const Word key = pattern_index(memory.at(*slot.block, slot.begin));
      if (memory.check(slot, key, 0, 1).bad_count != 0) continue;
      kernels.deliver(slot, launch.executor, launch.executor, [&] { memory.fill(slot, key + 1, 0, 1); });
    }
  };
}

const RegisterSimulatedKernel<random_load> kRandomLoad{
    "random_load",           "random_load_4",  "random_load_4_several", "random_load_8",
    "random_load_8_several", "random_load_16", "random_load_16_several"};
const RegisterSimulatedKernel<random_store> kRandomStore{
    "random_store",           "random_store_4",  "random_store_4_several", "random_store_8",
    "random_store_8_several", "random_store_16", "random_store_16_several"};
const RegisterSimulatedKernel<random_update> kRandomUpdate{"random_update", "random_update_8",
                                                           "random_update_8_several", "random_update_16",
                                                           "random_update_16_several"};

}  // namespace
}  // namespace byteways::sim
