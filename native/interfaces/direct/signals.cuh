// Flags between the blocks of all ranks' kernels. Block b of a rank waits for block b of the others alone, and
// all of a grid's blocks are resident, so that none waits for one that cannot start.
#pragma once
#include "interfaces/device/prelude.cuh"
#include "interfaces/direct/arguments.hpp"

namespace byteways {

// Polls between readings of the clock: a flag is seen after fewer, unless something is wrong.
constexpr unsigned int kDirectLooksPerClock = 1024;

// What a block knows of its operations.
struct Progress {
  Word epoch;                  // that is under way
  unsigned int* given_up;      // shared by the block: 1 after a flag that did not come
};

__device__ inline DirectWorkspace& own_workspace(const DirectArguments& a) { return *a.workspaces[a.rank]; }

// All threads call it first. `given_up` is in the block's shared memory.
__device__ inline Progress begin_block(const DirectArguments& a, unsigned int* given_up) {
  const Word epoch = load_relaxed_system(&own_workspace(a).epochs[block_index()]) + 1;
  const Word failed = load_relaxed_system(&own_workspace(a).given_up);
  if (thread_index() == 0) *given_up = failed == a.generation ? 1 : 0;
  synchronize_block();
  return {epoch, given_up};
}

// All threads call it last, when `next` is the epoch that the block's next operation has.
__device__ inline void end_block(const DirectArguments& a, Word next) {
  synchronize_block();
  if (thread_index() == 0) own_workspace(a).epochs[block_index()] = next - 1;
}

// Tells the host, and later kernels of this mover, that a flag of `rank` did not come.
__device__ inline void give_up(const DirectArguments& a, const Progress& at, Word rank, Word stage) {
  *at.given_up = 1;
  own_workspace(a).given_up = a.generation;
  atomic_store(&a.failure->rank, rank);
  atomic_store(&a.failure->stage, stage);
  atomic_store(&a.failure->epoch, at.epoch);
  fence_system();
  atomic_store(&a.failure->generation, a.generation);
}

// Whether to go on polling for a flag of `rank`. `since` is 0 at first.
__device__ inline bool waits_on(const DirectArguments& a, const Progress& at, Word rank, Word stage,
                                unsigned int look, Word& since) {
  if (*static_cast<volatile unsigned int*>(at.given_up) != 0) return false;
  if (look % kDirectLooksPerClock != 0) return true;
  const Word now = clock_nanoseconds();
  if (since == 0) since = now;
  if (now - since <= a.patience_ns) return true;
  give_up(a, at, rank, stage);
  return false;
}

// Barrier of all ranks' blocks of this number; all threads of the block call it. What they have written
// before is seen by all ranks after it.
__device__ inline void meet(const DirectArguments& a, const Progress& at, unsigned int stage) {
  synchronize_block();
  const unsigned int other = thread_index();
  if (other < a.ranks && other != a.rank) {
    store_release_system(&a.workspaces[other]->flags[stage][block_index()][a.rank], at.epoch);
    const Word* flag = &own_workspace(a).flags[stage][block_index()][other];
    Word since = 0;
    for (unsigned int look = 1; load_acquire_system(flag) < at.epoch; ++look)
      if (!waits_on(a, at, other, stage, look, since)) break;
  }
  synchronize_block();
}

__device__ inline Word slot_of(const DirectArguments& a, Word operation) {
  return a.slots > 1 ? operation % a.slots * a.slot_stride : 0;
}

}  // namespace byteways
