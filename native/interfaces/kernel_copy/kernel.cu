// Interface `kernel`: a copy by loads and stores of 16 bytes. `copy` has a thread for every access,
// `copy_tiled` one for a few; `copy_resident` has a grid of chosen size, whose threads keep eight accesses in
// flight. The first two have no loop, as small copies are short.
#include "interfaces/kernel_copy/slots.cuh"

namespace byteways {

struct Elements {
  Bytes16* to;
  const Bytes16* from;
  Word count;

  __device__ explicit Elements(const CopyArguments& arguments)
      : to(reinterpret_cast<Bytes16*>(destination_of(arguments))),
        from(reinterpret_cast<const Bytes16*>(source_of(arguments))),
        count(arguments.bytes / sizeof(Bytes16)) {}
};

// Copies `in_flight` elements from i on, `step` apart; if not `whole`, only those below `count`.
template <unsigned int in_flight, bool whole, class Index>
__device__ inline void copy_several(const Elements& elements, Index i, Index step) {
  const auto count = static_cast<Index>(elements.count);
  Bytes16 held[in_flight];
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k)
    if (whole || i + k * step < count) held[k] = load_streaming(elements.from + i + k * step);
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k)
    if (whole || i + k * step < count) store_streaming(elements.to + i + k * step, held[k]);
}

BYTEWAYS_KERNEL(1024, 2) copy(CopyArguments arguments) {
  const Elements elements(arguments);
  copy_several<1, false>(elements, tile_thread(1), 1u);
}

BYTEWAYS_KERNEL(1024, 2) copy_tiled(CopyArguments arguments) {
  const Elements elements(arguments);
  copy_several<kTileAccesses, false>(elements, tile_thread(kTileAccesses), block_threads());
}

// Whole passes in tiles that are contiguous in memory, which suits DRAM pages and address translation; what
// is left, less than a pass, is spread over all threads. Bytes behind the last element, and all of buffers
// that are not aligned, are copied one by one.
BYTEWAYS_KERNEL(1024) copy_resident(CopyArguments arguments) {
  Elements elements(arguments);
  const Word misaligned = (reinterpret_cast<Word>(elements.from) | reinterpret_cast<Word>(elements.to)) & 15;
  if (misaligned) elements.count = 0;
  const unsigned int threads = block_threads(), tile = kCopyInFlight * threads;
  const Word pass = Word{grid_blocks()} * tile, own = Word{block_index()} * tile + thread_index();
  Word first = 0;
#pragma unroll 1
  for (; first + pass <= elements.count; first += pass)
    copy_several<kCopyInFlight, true>(elements, first + own, Word{threads});
  copy_several<kCopyInFlight, false>(elements, first + grid_thread(), grid_threads());
  copy_bytes(reinterpret_cast<char*>(elements.to), reinterpret_cast<const char*>(elements.from),
             elements.count * sizeof(Bytes16), arguments.bytes, grid_thread(), grid_threads());
  if (arguments.fence != 0) fence_system();
}

}  // namespace byteways
