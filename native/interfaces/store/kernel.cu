// Interface `store`: stores of 16 bytes without loads. Words are generated in registers by one multiplication
// and one fold each, which is faster than memory. `store` has a thread for every element, `store_tiled` one
// for a few, `store_resident` a grid of any size.
#include "interfaces/device/prelude.cuh"
#include "interfaces/store/arguments.hpp"

namespace byteways {

__device__ inline Bytes16 pattern_pair(Word key, Word index) {
  const Word low = pattern_word(key, index), high = pattern_word(key, index + 1);
  return {static_cast<unsigned int>(low), static_cast<unsigned int>(low >> 32),
          static_cast<unsigned int>(high), static_cast<unsigned int>(high >> 32)};
}

struct Target {
  Bytes16* to;
  Word key, count;

  // Words of the slot are numbered from the first one of the buffer on.
  __device__ explicit Target(const StoreArguments& arguments)
      : to(reinterpret_cast<Bytes16*>(static_cast<char*>(arguments.data) + arguments.offset)),
        key(arguments.key + arguments.offset / sizeof(Word)),
        count(arguments.bytes / sizeof(Bytes16)) {}

  // Stores `in_flight` elements from i on, `step` apart, if they are below `count`.
  template <unsigned int in_flight, class Index>
  __device__ void store(Index i, Index step) const {
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k) {
      const Index at = i + k * step;
      if (at < static_cast<Index>(count)) store_streaming(to + at, pattern_pair(key, 2 * Word{at}));
    }
  }
};

BYTEWAYS_KERNEL(1024, 2) store(StoreArguments arguments) { Target(arguments).store<1>(tile_thread(1), 1u); }

BYTEWAYS_KERNEL(1024, 2) store_tiled(StoreArguments arguments) {
  Target(arguments).store<kTileAccesses>(tile_thread(kTileAccesses), block_threads());
}

BYTEWAYS_KERNEL(1024, 2) store_resident(StoreArguments arguments) {
  const Target target(arguments);
  const Word threads = block_threads(), tile = kTileAccesses * threads;
#pragma unroll 1
  for (Word begin = block_index() * tile; begin < target.count; begin += grid_blocks() * tile)
    target.store<kTileAccesses>(begin + thread_index(), threads);
  if (arguments.fence != 0) fence_system();
}

}  // namespace byteways
