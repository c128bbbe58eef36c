// Interface `load`: loads of 16 bytes without stores except one sum per block, which proves that every word
// was read.
#include "interfaces/device/block_sum.cuh"
#include "interfaces/load/arguments.hpp"

namespace byteways {

__device__ inline Word sum_of(const Bytes16& pair) {
  return load_word(pair.x | Word{pair.y} << 32) + load_word(pair.z | Word{pair.w} << 32);
}

// The sum of `in_flight` elements from i on, `step` apart; if not `whole`, only of those below `count`.
template <unsigned int in_flight, bool whole, class Index>
__device__ inline Word sum_of_several(const Bytes16* from, Index i, unsigned int step, Index count) {
  Bytes16 held[in_flight];
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k)
    held[k] = whole || i + k * step < count ? load_streaming(from + i + k * step) : Bytes16{0, 0, 0, 0};
  Word sum = 0;
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k) sum += sum_of(held[k]);
  return sum;
}

__device__ inline const Bytes16* slot_of(const LoadArguments& arguments) {
  return reinterpret_cast<const Bytes16*>(static_cast<const char*>(arguments.data) + arguments.offset);
}

__device__ inline void add_to_sum(const LoadArguments& arguments, Word own) {
  const Word sum = sum_of_block(own);
  if (thread_index() == 0) atomic_add(arguments.sum, sum);
}

// A tile a block. Measured on H100 (docs/reference/peers.md): faster at all sizes than a thread for each
// access, whose blocks add more sums.
BYTEWAYS_KERNEL(1024, 2) load(LoadArguments arguments) {
  add_to_sum(arguments, sum_of_several<kTileAccesses, false>(
                            slot_of(arguments), tile_thread(kTileAccesses), block_threads(),
                            static_cast<unsigned int>(arguments.bytes / sizeof(Bytes16))));
}

// Tiles that are contiguous in memory, in a grid of chosen size.
BYTEWAYS_KERNEL(1024, 1) load_resident(LoadArguments arguments) {
  const Bytes16* from = slot_of(arguments);
  const Word count = arguments.bytes / sizeof(Bytes16);
  const unsigned int threads = block_threads(), tile = kCopyInFlight * threads;
  Word sum = 0;
#pragma unroll 1
  for (Word first = Word{block_index()} * tile; first < count; first += Word{grid_blocks()} * tile)
    sum += first + tile <= count
               ? sum_of_several<kCopyInFlight, true>(from, first + thread_index(), threads, count)
               : sum_of_several<kCopyInFlight, false>(from, first + thread_index(), threads, count);
  add_to_sum(arguments, sum);
}

}  // namespace byteways
