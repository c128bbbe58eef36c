// Interface `store`: stores of 16 bytes without loads. Words are generated in registers by one multiplication
// and one fold each, which is faster than memory.
#include "interfaces/device/prelude.cuh"
#include "interfaces/store/arguments.hpp"

namespace byteways {

__device__ inline Bytes16 pattern_pair(Word key, Word index) {
  const Word low = pattern_word(key, index), high = pattern_word(key, index + 1);
  return {static_cast<unsigned int>(low), static_cast<unsigned int>(low >> 32),
          static_cast<unsigned int>(high), static_cast<unsigned int>(high >> 32)};
}

// Stores `in_flight` elements from i on, `step` apart, if they are below `count`. The first holds the words
// first + 2 * i and the one behind it.
template <unsigned int in_flight>
__device__ inline void store_several(const StoreArguments& arguments, Bytes16* to, Word first, Word i,
                                     Word step, Word count) {
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k) {
    const Word at = i + k * step;
    if (at < count) store_streaming(to + at, pattern_pair(arguments.key, first + 2 * at));
  }
}

// A thread for every element where the grid is that large, else tiles of a few elements a thread.
BYTEWAYS_KERNEL(1024, 2) store(StoreArguments arguments) {
  const Word offset = arguments.slot * arguments.stride, first = offset / sizeof(Word);
  auto* to = reinterpret_cast<Bytes16*>(static_cast<char*>(arguments.data) + offset);
  const Word count = arguments.bytes / sizeof(Bytes16);
  if (count <= grid_threads()) {
    store_several<1>(arguments, to, first, grid_thread(), 1, count);
  } else {
    const Word threads = block_threads(), tile = kTileAccesses * threads;
#pragma unroll 1
    for (Word begin = block_index() * tile; begin < count; begin += grid_blocks() * tile)
      store_several<kTileAccesses>(arguments, to, first, begin + thread_index(), threads, count);
  }
  if (arguments.fence != 0) fence_system();
}

}  // namespace byteways
