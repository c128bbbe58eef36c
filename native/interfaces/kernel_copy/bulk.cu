// Interface `kernel-bulk`: copies by bulk-copy instructions through shared memory, issued by one thread per
// block. A few blocks saturate a link, so a communication library needs fewer multiprocessors. For compute
// capability 9.0 and later; the file is empty for older devices.
#include "interfaces/kernel_copy/slots.cuh"

#if defined(BYTEWAYS_NVIDIA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
namespace byteways {

constexpr unsigned int kUnread = 2;  // stores that may still be reading shared memory

// Bulk instructions reach memory through the asynchronous proxy; this orders them after the initialisation of
// the barriers. Between a bulk load and the bulk store of its data the barrier is enough: both use that
// proxy.
__device__ inline void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ inline void barrier_init(unsigned int barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

__device__ inline void barrier_wait(unsigned int barrier, unsigned int parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ inline void bulk_load(unsigned int shared, const char* from, unsigned int bytes,
                                 unsigned int barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
      : "memory");
}

__device__ inline void bulk_store(char* to, unsigned int shared, unsigned int bytes) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
      "r"(shared), "r"(bytes)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until at most `unread` of the newest stores still read their shared memory.
template <unsigned int unread>
__device__ inline void wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(unread) : "memory");
}

// A ring of `stages` chunks in shared memory. The block's chunk j uses stage j % stages.
struct Ring {
  unsigned int base, chunk, stages;
  const char* source;
  char* destination;
  Word bytes;   // a multiple of 16
  Word chunks;  // that these are

  __device__ unsigned int barrier(unsigned int stage) const { return base + stage * 8; }
  __device__ unsigned int data(unsigned int stage) const { return base + kBulkBarrierBytes + stage * chunk; }
  __device__ unsigned int size(Word index) const {
    const Word left = bytes - index * chunk;
    return left < chunk ? static_cast<unsigned int>(left) : chunk;
  }
  __device__ void load(unsigned int stage, Word index) const {
    bulk_load(data(stage), source + index * chunk, size(index), barrier(stage));
  }
  __device__ void store(unsigned int stage, Word index) const {
    bulk_store(destination + index * chunk, data(stage), size(index));
  }
};

// One thread per block. `unread` is 0 or kUnread, and less than the number of stages: a stage is loaded again
// once its store has read it, which is known `unread` stores later.
template <unsigned int unread>
__device__ void run(const Ring& ring) {
  const Word step = grid_blocks(), end = ring.chunks;
  Word next = block_index();  // chunk to load
  for (unsigned int stage = 0; stage < ring.stages && next < end; ++stage, next += step)
    ring.load(stage, next);

  unsigned int stage = 0, parity = 0, refill = 0, stores = 0;
  for (Word index = block_index(); index < end; index += step) {
    barrier_wait(ring.barrier(stage), parity);
    ring.store(stage, index);
    if (++stage == ring.stages) {
      stage = 0;
      parity ^= 1;
    }
    if (stores != unread) {
      ++stores;
    } else if (next < end) {
      wait_read<unread>();
      ring.load(refill, next);
      next += step;
      if (++refill == ring.stages) refill = 0;
    }
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");  // written, not only read
}

// The launch gives the block shared memory for all stages, and the host counts the chunks: no division here.
BYTEWAYS_KERNEL(128) copy_bulk(CopyArguments arguments) {
  extern __shared__ __align__(128) char shared[];
  const char* source = source_of(arguments);
  char* destination = destination_of(arguments);
  const Word misaligned = (reinterpret_cast<Word>(source) | reinterpret_cast<Word>(destination)) & 15;
  const Word body = misaligned ? 0 : arguments.bytes & ~Word{15};
  if (thread_index() == 0 && body > 0) {
    const Ring ring{static_cast<unsigned int>(__cvta_generic_to_shared(shared)),
                    arguments.chunk_bytes,
                    arguments.stages,
                    source,
                    destination,
                    body,
                    arguments.chunks};
#pragma unroll 1
    for (unsigned int stage = 0; stage < ring.stages; ++stage) barrier_init(ring.barrier(stage));
    fence_proxy();
    if (ring.stages > kUnread)
      run<kUnread>(ring);
    else
      run<0>(ring);
  }
  copy_bytes(destination, source, body, arguments.bytes, grid_thread(), grid_threads());
}

}  // namespace byteways
#endif
