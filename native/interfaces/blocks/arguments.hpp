// Lists of blocks and argument blocks of the kernels that move them. Plain types only: other programs than
// this one fill them in as well.
#pragma once
#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"

namespace byteways {

// Where a block is, and where it goes.
struct alignas(16) BlockPair {
  const void* source;
  void* destination;
};

// Most blocks of one list: a list and the map of a check stay below 1 MiB, up to which a simulated machine
// reads memory that the host has written. A transfer of more blocks is several launches.
constexpr unsigned int kMostListedBlocks = 1u << 15;
// Accesses that a kernel numbers in 32 bits, with room for the threads behind the last one.
constexpr unsigned int kMostBlockAccesses = 1u << 30;

// From this many accesses of a block on, the threads of a block of the grid share the addresses that they
// read: with at most kCopyInFlight accesses a thread these are no more than the threads.
constexpr unsigned int kLeastTiledAccesses = 2 * kCopyInFlight;

// Kernels "copy_blocks" and "copy_blocks_resident": move blocks of equal size. Each may be anywhere that is
// aligned to `access_bytes`. The launch gives a block of the grid shared memory for a pair per thread, and
// "copy_blocks_resident" twice as much.
struct BlocksArguments {
  const BlockPair* list;       // in memory that the device reads
  unsigned int accesses;       // of all blocks together
  unsigned int per_block;      // accesses of one block
  unsigned int factor, shift;  // access i < 2^31 is in block i * factor >> shift, see set_divisor()
  unsigned int access_bytes;   // 16, 8, 4 or 1
  unsigned int fence;          // 1 if must_fence() (mover.hpp)
};

// Kernel "copy_blocks_bulk": moves blocks of equal size by bulk-copy instructions, one for each chunk of a
// block. Blocks are multiples of 16 bytes, at multiples of 16.
struct BulkBlocksArguments {
  const BlockPair* list;
  unsigned long long block_bytes;
  unsigned int chunks;         // of all blocks together
  unsigned int per_block;      // chunks of one block, the last one perhaps shorter
  unsigned int factor, shift;  // chunk i < 2^31 is of block i * factor >> shift
  unsigned int chunk_bytes;
  unsigned int stages;  // chunks in flight per block of the grid
};

// Threads of a block of its grid: one issues the instructions, all read the list for it. Pairs are read this
// many phases of kBulkBlocksThreads chunks ahead, and kept as long.
constexpr unsigned int kBulkBlocksThreads = 32, kBulkPhasesAhead = 2, kBulkPhasesKept = 4;
constexpr unsigned int kBulkPairsBytes =
    kBulkPhasesKept * kBulkBlocksThreads * static_cast<unsigned int>(sizeof(BlockPair));

// The host's "memcpy_blocks": `operations` one after another, each on its slot. The list is that of slot 0.
struct MemcpyBlocksArguments {
  const BlockPair* list;
  unsigned long long blocks, block_bytes;
  unsigned long long slots, stride;  // of both sides, in bytes
  unsigned long long first_operation, operations;
};

// A block as a check sees it: in words from the beginning of a slot on each side.
struct BlockPlace {
  unsigned long long destination, source, words;
};

// "check_blocks": checks `count` words from word `first` of a slot on; slots are `slot_words` apart. The
// words of a block must be the pattern of its source, pattern_word(key, s * slot_words + source + column) in
// slot s. All others must be `gap`. `map` has `blocks` places, in the order of their destinations.
struct CheckBlocksArguments {
  unsigned long long* words;
  unsigned long long count, first, slot_words;
  const BlockPlace* map;
  unsigned long long blocks;
  unsigned long long key, gap;
  CheckResult* result;
};

// Returns the place whose destination is the last one at or before `word` of a slot: 0 if the first one is
// behind it.
BYTEWAYS_HOST_DEVICE inline unsigned long long place_before(const BlockPlace* map, unsigned long long blocks,
                                                            unsigned long long word) {
  unsigned long long low = 0, high = blocks;  // places below `low` begin at or before the word
  while (low < high) {
    const unsigned long long middle = (low + high) / 2;
    if (map[middle].destination <= word)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? 0 : low - 1;
}

}  // namespace byteways
