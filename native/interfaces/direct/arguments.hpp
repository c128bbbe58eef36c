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

// Workspace of one rank, in memory of its GPU that all others map. Nothing in it is ever reset: block b of
// every rank's kernel counts its operations (epochs) in epochs[b], and all flags hold the epoch that they
// announce. The words with flags have two copies, of even and of odd epochs: a rank that writes epoch e + 2
// has received epoch e + 1 from the reader, which was done with epoch e by then.
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
