// The copy of scattered blocks of equal size. A thread's accesses are numbered across all blocks, so that
// small blocks leave no thread idle. The threads of a block make theirs to adjacent memory, a tile, and read
// the addresses for it once: from memory of the host each reading takes a link as long as the data.
#pragma once
#include "interfaces/blocks/arguments.hpp"
#include "interfaces/device/prelude.cuh"

namespace byteways {

__device__ inline BlockPair load_pair(const BlockPair* from) {
  const auto* words = reinterpret_cast<const Word*>(from);
  return {reinterpret_cast<const void*>(load_global(words)), reinterpret_cast<void*>(load_global(words + 1))};
}

// What a thread moves at once. Only whole 16 bytes are worth a hint to the caches.
__device__ inline Bytes16 load_access(const Bytes16* from) { return load_streaming(from); }
__device__ inline void store_access(Bytes16* to, Bytes16 value) { store_streaming(to, value); }
template <class Access>
__device__ inline Access load_access(const Access* from) {
  return load_global(from);
}
template <class Access>
__device__ inline void store_access(Access* to, Access value) {
  store_global(to, value);
}

__device__ inline unsigned int block_of(const BlocksArguments& arguments, unsigned int access) {
  return static_cast<unsigned int>(Word{access} * arguments.factor >> arguments.shift);
}

// Whether the threads of a block of the grid read the addresses of a tile together: a tile may begin and end
// within a block, so that its blocks are up to two more than fit into it.
__device__ inline bool shares_pairs(const BlocksArguments& arguments) {
  return arguments.per_block >= kLeastTiledAccesses && block_threads() >= 4;
}

// Moves `in_flight` accesses from `first` on, `step` apart, if they are below the number of all. `pair_of(b)`
// has the addresses of block b.
template <class Access, unsigned int in_flight, class PairOf>
__device__ inline void copy_accesses(const BlocksArguments& arguments, unsigned int first, unsigned int step,
                                     const PairOf& pair_of) {
  Access held[in_flight];
  Access* to[in_flight];
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k) {
    const unsigned int i = first + k * step;
    if (i >= arguments.accesses) continue;
    const unsigned int block = block_of(arguments, i), within = i - block * arguments.per_block;
    const BlockPair pair = pair_of(block);
    to[k] = static_cast<Access*>(pair.destination) + within;
    held[k] = load_access(static_cast<const Access*>(pair.source) + within);
  }
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k)
    if (first + k * step < arguments.accesses) store_access(to[k], held[k]);
}

// The addresses of a tile's blocks, of which each thread reads one.
struct TilePairs {
  unsigned int first_block, count;

  __device__ TilePairs(const BlocksArguments& arguments, unsigned int begin, unsigned int tile)
      : first_block(block_of(arguments, begin)) {
    const unsigned int left = arguments.accesses - begin, last = begin + (left < tile ? left : tile) - 1;
    count = block_of(arguments, last) - first_block + 1;
  }
  __device__ BlockPair load(const BlockPair* list) const {
    return thread_index() < count ? load_pair(list + first_block + thread_index()) : BlockPair{};
  }
  __device__ void keep(BlockPair* shared, const BlockPair& pair) const {
    if (thread_index() < count) shared[thread_index()] = pair;
  }
};

// A grid that covers all accesses by tiles of `in_flight` a thread. `shared` has room for the pairs of a
// tile.
template <class Access, unsigned int in_flight>
__device__ inline void copy_covered(const BlocksArguments& arguments, const BlockPair* list,
                                    BlockPair* shared) {
  const unsigned int tile = in_flight * block_threads(), begin = block_index() * tile;
  if (begin >= arguments.accesses) return;
  if (!shares_pairs(arguments)) {
    copy_accesses<Access, in_flight>(arguments, begin + thread_index(), block_threads(),
                                     [=](unsigned int block) { return load_pair(list + block); });
    return;
  }
  const TilePairs pairs(arguments, begin, tile);
  pairs.keep(shared, pairs.load(list));
  synchronize_block();
  copy_accesses<Access, in_flight>(arguments, begin + thread_index(), block_threads(),
                                   [&](unsigned int block) { return shared[block - pairs.first_block]; });
}

// A grid of any size. The addresses of the next tile are read while this one moves; `shared` has room for the
// pairs of two tiles, so that one barrier for each is enough.
template <class Access, unsigned int in_flight>
__device__ inline void copy_resident(const BlocksArguments& arguments, BlockPair* shared) {
  const unsigned int tile = in_flight * block_threads();
  const Word step = Word{grid_blocks()} * tile;
  Word begin = Word{block_index()} * tile;
  if (!shares_pairs(arguments)) {
#pragma unroll 1
    for (; begin < arguments.accesses; begin += step)
      copy_accesses<Access, in_flight>(arguments, static_cast<unsigned int>(begin) + thread_index(),
                                       block_threads(),
                                       [&](unsigned int block) { return load_pair(arguments.list + block); });
    return;
  }
  if (begin >= arguments.accesses) return;
  TilePairs pairs(arguments, static_cast<unsigned int>(begin), tile);
  BlockPair next = pairs.load(arguments.list);
  unsigned int half = 0;
#pragma unroll 1
  for (; begin < arguments.accesses; begin += step) {
    BlockPair* own = shared + half * block_threads();
    pairs.keep(own, next);
    synchronize_block();
    const unsigned int first_block = pairs.first_block;
    if (begin + step < arguments.accesses) {
      pairs = TilePairs(arguments, static_cast<unsigned int>(begin + step), tile);
      next = pairs.load(arguments.list);
    }
    copy_accesses<Access, in_flight>(arguments, static_cast<unsigned int>(begin) + thread_index(),
                                     block_threads(),
                                     [&](unsigned int block) { return own[block - first_block]; });
    half ^= 1;
  }
}

}  // namespace byteways
