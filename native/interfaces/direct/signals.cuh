// Flags between the blocks of all ranks' kernels, by the contract in arguments.hpp. All of a grid's blocks
// are resident, so that none waits for one that cannot start.
#pragma once
#include "interfaces/device/prelude.cuh"
#include "interfaces/direct/arguments.hpp"

namespace byteways {

// Polls between readings of the clock: a flag is seen after fewer, unless something is wrong.
constexpr unsigned int kDirectLooksPerClock = 1024;

__device__ inline DirectWorkspace& own_workspace(const DirectArguments& a) { return *a.workspaces[a.rank]; }

// The epoch of the block's first operation.
__device__ inline Word first_epoch(const DirectArguments& a) {
  return load_relaxed_system(&own_workspace(a).epochs[block_index()]) + 1;
}

// All threads call it last, when `next` is the epoch that the block's next operation has.
__device__ inline void end_block(const DirectArguments& a, Word next) {
  synchronize_block();
  if (thread_index() == 0) store_global(&own_workspace(a).epochs[block_index()], next - 1);
}

// Tells the host, and later kernels of this mover, that a flag of `rank` did not come.
__device__ inline void give_up(const DirectArguments& a, Word epoch, Word rank, Word stage) {
  store_global(&own_workspace(a).given_up, a.generation);
  atomic_store(&a.failure->rank, rank);
  atomic_store(&a.failure->stage, stage);
  atomic_store(&a.failure->epoch, epoch);
  fence_system();
  atomic_store(&a.failure->generation, a.generation);
}

// Whether to go on polling for a flag of `rank`. `since` is 0 at first.
__device__ inline bool waits_on(const DirectArguments& a, Word epoch, Word rank, Word stage,
                                unsigned int look, Word& since) {
  if (look % kDirectLooksPerClock != 0) return true;
  if (load_relaxed_system(&own_workspace(a).given_up) == a.generation) return false;
  const Word now = clock_nanoseconds();
  if (since == 0) since = now;
  if (now - since <= a.patience_ns) return true;
  give_up(a, epoch, rank, stage);
  return false;
}

// Barrier of all ranks' blocks of this number; all threads of the block call it. What they have written
// before is seen by all ranks after it.
__device__ inline void meet(const DirectArguments& a, Word epoch, unsigned int stage) {
  synchronize_block();
  const unsigned int other = thread_index();
  if (other < a.ranks && other != a.rank) {
    store_release_system(&a.workspaces[other]->flags[stage][block_index()][a.rank], epoch);
    const Word* flag = &own_workspace(a).flags[stage][block_index()][other];
    Word since = 0;
    for (unsigned int look = 1; load_acquire_system(flag) < epoch; ++look)
      if (!waits_on(a, epoch, other, stage, look, since)) break;
  }
  synchronize_block();
}

__device__ inline Word slot_of(const DirectArguments& a, Word operation) {
  return a.slots > 1 ? operation % a.slots * a.slot_stride : 0;
}

}  // namespace byteways
