// Interface `kernel-bulk`: copies by bulk-copy instructions through shared memory, issued by one thread per
// block. A few blocks saturate a link, so a communication library needs fewer multiprocessors. For compute
// capability 9.0 and later; the file is empty for older devices.
#include "interfaces/kernel_copy/bulk.cuh"
#include "interfaces/kernel_copy/slots.cuh"

#if defined(BYTEWAYS_NVIDIA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
namespace byteways {

template <unsigned int unread, class ChunkAt>
__device__ inline void run(const Ring& ring, Word chunks, const ChunkAt& chunk_at) {
  Pipeline<unread> pipeline{ring, block_index(), chunks, grid_blocks()};
  pipeline.fill(chunk_at);
  pipeline.advance(chunks, chunk_at);
  pipeline.finish();
}

// The launch gives the block shared memory for all stages, and the host counts the chunks: no division here.
BYTEWAYS_KERNEL(128) copy_bulk(CopyArguments arguments) {
  extern __shared__ __align__(128) char shared[];
  const char* source = source_of(arguments);
  char* destination = destination_of(arguments);
  const Word misaligned = (reinterpret_cast<Word>(source) | reinterpret_cast<Word>(destination)) & 15;
  const Word body = misaligned ? 0 : arguments.bytes & ~Word{15};
  if (thread_index() == 0 && body > 0) {
    const auto base = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
    const Ring ring{base, base + kBulkBarrierBytes, arguments.chunk_bytes, arguments.stages};
    ring.init();
    const auto chunk_at = [&](Word index) {
      const Word offset = index * ring.chunk, left = body - offset;
      return Chunk{source + offset, destination + offset,
                   left < ring.chunk ? static_cast<unsigned int>(left) : ring.chunk};
    };
    if (ring.stages > kUnread)
      run<kUnread>(ring, arguments.chunks, chunk_at);
    else
      run<0>(ring, arguments.chunks, chunk_at);
  }
  copy_bytes(destination, source, body, arguments.bytes, grid_thread(), grid_threads());
}

}  // namespace byteways
#endif
