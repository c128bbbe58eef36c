// Arguments of the direct collectives, and the workspace through which the GPUs of all ranks signal each
// other.
#pragma once

namespace byteways {

constexpr unsigned int kDirectMostRanks = 16;
constexpr unsigned int kDirectThreads = 512;      // the most of a block, as the kernels declare
constexpr unsigned int kDirectMostBlocks = 1024;  // that have flags
// The protocol LL (as NCCL names it): a word of data travels as two halves, each with a flag beside it.
constexpr unsigned int kFlaggedMostBlocks = 64;
constexpr unsigned int kFlaggedBlockWords = 1024;  // data words of a block, from one rank to one other
constexpr unsigned int kFlaggedWordBytes = 16;
// Vectors of 16 bytes that a thread loads from each rank before it waits for the first.
constexpr unsigned int kDirectInFlight = 4;

// The order of ranks' kernels: which barrier of an operation a flag belongs to.
enum DirectStage : unsigned int { kDirectBegin = 0, kDirectEnd = 1, kDirectStages = 2 };

// The contract of the kernels (kernel.cu, flagged.cu) with each other; simulated.cpp follows it.
//  1. All ranks launch grids of one shape in one order. Block b of a rank signals and awaits only block b of
//     the others, and moves the same elements as they do; blocks of one grid do not order each other.
//  2. An epoch is a step of block b that all ranks take: an operation, or a pass of one. epochs[b] is the
//     latest one completed, written by its owner at the end of a kernel. Nothing is ever reset. A flag holds
//     the epoch that it announces; a barrier awaits that epoch or a later one.
//  3. flags[stage][b][r] is stored by rank r alone, and loaded by the owner of the workspace.
//  4. A source is written before kDirectBegin of its operation, and not again until its rank is past
//     kDirectEnd: between the two any rank may load it. A destination belongs to its own rank, but for
//     two-shot and copies, which store into those of others between kDirectBegin and kDirectEnd.
//  5. Between two barriers ranks run in any order. So no rank may store there what another one loads. In
//  place
//     a source is a destination: allgather loads only the rank's own block of it, which nobody stores;
//     reduce-scatter and two-shot store only the block that this rank alone loads; one-shot allreduce stores
//     what all load, and therefore has a barrier (kDirectEnd) between the loads and the stores of each pass.
//  6. Protocol LL: words[e % 2][r][b] is stored by rank r in epoch e. The owner loads it until both flags are
//     the low half of e. A rank that stores epoch e + 2 has received epoch e + 1 from the owner, which was
//     done with epoch e by then. A thread sends word i before it stores word i, and sends no word that
//     another thread stores: so LL in place needs no barrier. Blocks without words take part in epochs alone.
//  7. A kernel accesses bytes [0, bytes) of a message, in the slot of its operation, and nothing else.

// Workspace of one rank, in memory of its GPU that all others map.
struct DirectWorkspace {
  unsigned long long epochs[kDirectMostBlocks];  // written by the owner alone
  // The latest mover of which a kernel has given up: its later kernels wait for nothing.
  unsigned long long given_up;
  unsigned long long unused[15];
  // flags[stage][block][rank]: the epoch of the stage that this block of that rank has reached.
  unsigned long long flags[kDirectStages][kDirectMostBlocks][kDirectMostRanks];
};
// What follows the workspace: words[epoch % 2][rank][block][word], of kFlaggedWordBytes each.
constexpr unsigned long long kFlaggedRankBytes =
    static_cast<unsigned long long>(kFlaggedMostBlocks) * kFlaggedBlockWords * kFlaggedWordBytes;

// What a kernel tells when a flag did not come in time, in host memory.
struct DirectFailure {
  unsigned long long generation;  // of the mover; 0: none has failed
  unsigned long long rank;        // whose flag did not come
  unsigned long long stage;       // DirectStage, kDirectStages: a word with a flag
  unsigned long long epoch;
};

// One launch of one rank. Rank r sends to rank p `bytes` from byte p * source_stride of its source slot;
// they are added up at the beginning of the destination slot, or placed at r * destination_stride there.
struct DirectArguments {
  const char* sources[kDirectMostRanks];
  char* destinations[kDirectMostRanks];
  DirectWorkspace* workspaces[kDirectMostRanks];
  unsigned long long bytes;
  unsigned long long source_stride, destination_stride;
  unsigned long long slots, slot_stride;  // operation k uses slot k % slots on both sides
  unsigned long long first_operation, operations;
  unsigned long long patience_ns;  // for a flag
  unsigned long long generation;
  DirectFailure* failure;
  unsigned int ranks, rank;
  unsigned int adds;           // 1: sums; 0: places
  unsigned int element_bytes;  // of a sum: 8, or 4
  unsigned int stage;          // "direct_barrier": of it
  unsigned int block_words;    // "direct_flagged": of each block, up to kFlaggedBlockWords
};

}  // namespace byteways
