// Interface `bulk-blocks`: scattered blocks by bulk-copy instructions, which saturate a link with few
// multiprocessors. The file is empty for devices before compute capability 9.0.
#include "interfaces/blocks/blocks.cuh"
#include "interfaces/kernel_copy/bulk.cuh"

#if defined(BYTEWAYS_NVIDIA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
namespace byteways {

// The pairs of the chunks that this block of the grid moves, its j-th being chunk block_index() + j *
// grid_blocks() of all. Each thread reads one of a phase: a list in memory of the host is as far away as the
// data.
struct OwnChunks {
  const BulkBlocksArguments& arguments;
  BlockPair* kept;
  unsigned int count;

  __device__ OwnChunks(const BulkBlocksArguments& all, BlockPair* shared) : arguments(all), kept(shared) {
    const unsigned int first = block_index(), step = grid_blocks();
    count = first < all.chunks ? (all.chunks - first + step - 1) / step : 0;
  }
  __device__ unsigned int block_of(unsigned int chunk) const {
    return static_cast<unsigned int>(Word{chunk} * arguments.factor >> arguments.shift);
  }
  __device__ unsigned int chunk(unsigned int j) const { return block_index() + j * grid_blocks(); }
  __device__ BlockPair load(unsigned int phase) const {
    const unsigned int j = phase * kBulkBlocksThreads + thread_index();
    return j < count ? load_pair(arguments.list + block_of(chunk(j))) : BlockPair{};
  }
  __device__ void keep(unsigned int phase, const BlockPair& pair) const {
    kept[phase % kBulkPhasesKept * kBulkBlocksThreads + thread_index()] = pair;
  }
  __device__ Chunk operator()(Word index) const {
    const auto j = static_cast<unsigned int>(index);
    const BlockPair pair = kept[j % (kBulkPhasesKept * kBulkBlocksThreads)];
    const unsigned int number = chunk(j), part = number - block_of(number) * arguments.per_block;
    const Word offset = Word{part} * arguments.chunk_bytes, left = arguments.block_bytes - offset;
    return {static_cast<const char*>(pair.source) + offset, static_cast<char*>(pair.destination) + offset,
            left < arguments.chunk_bytes ? static_cast<unsigned int>(left) : arguments.chunk_bytes};
  }
};

// A phase loads chunks of the next one, as there are no more stages than chunks of a phase.
template <unsigned int unread>
__device__ inline void run(const Ring& ring, const OwnChunks& chunks) {
  const bool issues = thread_index() == 0;
  Pipeline<unread> pipeline{ring, 0, chunks.count, 1};
  for (unsigned int phase = 0; phase < kBulkPhasesAhead; ++phase) chunks.keep(phase, chunks.load(phase));
  synchronize_block();
  if (issues) pipeline.fill(chunks);
#pragma unroll 1
  for (unsigned int phase = 0; phase * kBulkBlocksThreads < chunks.count; ++phase) {
    const BlockPair ahead = chunks.load(phase + kBulkPhasesAhead);
    const unsigned int end = (phase + 1) * kBulkBlocksThreads;
    if (issues) pipeline.advance(end < chunks.count ? end : chunks.count, chunks);
    chunks.keep(phase + kBulkPhasesAhead, ahead);
    synchronize_block();
  }
  if (issues) pipeline.finish();
}

// The launch gives the block shared memory for the barriers, the pairs and all stages.
BYTEWAYS_KERNEL(32) copy_blocks_bulk(BulkBlocksArguments arguments) {
  static_assert(kBulkBlocksThreads == 32);
  extern __shared__ __align__(128) char shared[];
  const auto base = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
  const Ring ring{base, base + kBulkBarrierBytes + kBulkPairsBytes, arguments.chunk_bytes, arguments.stages};
  if (thread_index() == 0) ring.init();
  const OwnChunks chunks(arguments, reinterpret_cast<BlockPair*>(shared + kBulkBarrierBytes));
  if (ring.stages > kUnread)
    run<kUnread>(ring, chunks);
  else
    run<0>(ring, chunks);
}

}  // namespace byteways
#endif
