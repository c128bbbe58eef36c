// Interface `load`: loads of 16 bytes without stores except one sum per block, which proves that every word
// was read.
#include "interfaces/device/block_sum.cuh"
#include "interfaces/load/arguments.hpp"

namespace byteways {

__device__ inline Word sum_of(const Bytes16& pair) {
  return load_word(pair.x | Word{pair.y} << 32) + load_word(pair.z | Word{pair.w} << 32);
}

// The sum of `in_flight` elements from i on, `step` apart; if not `whole`, only of those below `count`.
template <unsigned int in_flight, bool whole>
__device__ inline Word sum_of_several(const Bytes16* from, Word i, unsigned int step, Word count) {
  Bytes16 held[in_flight];
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k)
    held[k] = whole || i + k * step < count ? load_streaming(from + i + k * step) : Bytes16{0, 0, 0, 0};
  Word sum = 0;
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k) sum += sum_of(held[k]);
  return sum;
}

// Tiles that are contiguous in memory; an element a thread where the grid is that large.
template <unsigned int in_flight>
__device__ inline Word sum_of_tiles(const Bytes16* from, Word count) {
  if (count <= grid_threads()) return sum_of_several<1, false>(from, grid_thread(), 1, count);
  const unsigned int threads = block_threads(), tile = in_flight * threads;
  Word sum = 0;
#pragma unroll 1
  for (Word first = Word{block_index()} * tile; first < count; first += Word{grid_blocks()} * tile)
    sum += first + tile <= count
               ? sum_of_several<in_flight, true>(from, first + thread_index(), threads, count)
               : sum_of_several<in_flight, false>(from, first + thread_index(), threads, count);
  return sum;
}

template <unsigned int in_flight>
__device__ inline void load_slot(const LoadArguments& arguments) {
  const auto* from = reinterpret_cast<const Bytes16*>(static_cast<const char*>(arguments.data) +
                                                      arguments.slot * arguments.stride);
  const Word sum = sum_of_block(sum_of_tiles<in_flight>(from, arguments.bytes / sizeof(Bytes16)));
  if (thread_index() == 0) atomic_add(arguments.sum, sum);
}

BYTEWAYS_KERNEL(1024, 2) load(LoadArguments arguments) { load_slot<kTileAccesses>(arguments); }
BYTEWAYS_KERNEL(1024, 1) load_resident(LoadArguments arguments) { load_slot<kCopyInFlight>(arguments); }

}  // namespace byteways
