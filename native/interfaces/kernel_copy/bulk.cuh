// Bulk-copy instructions through shared memory, issued by one thread per block of the grid: what the kernels
// that use them share. Empty for devices before compute capability 9.0.
#pragma once
#include "interfaces/device/prelude.cuh"
#include "interfaces/kernel_copy/arguments.hpp"

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

// What one instruction moves: a multiple of 16 bytes.
struct Chunk {
  const char* from;
  char* to;
  unsigned int bytes;
};

// A ring of `stages` chunks in shared memory. The block's chunk j uses stage j % stages.
struct Ring {
  unsigned int barriers, data, chunk, stages;

  __device__ unsigned int barrier(unsigned int stage) const { return barriers + stage * 8; }
  __device__ void init() const {
#pragma unroll 1
    for (unsigned int stage = 0; stage < stages; ++stage) barrier_init(barrier(stage));
    fence_proxy();
  }
  __device__ void load(unsigned int stage, const Chunk& each) const {
    bulk_load(data + stage * chunk, each.from, each.bytes, barrier(stage));
  }
  __device__ void store(unsigned int stage, const Chunk& each) const {
    bulk_store(each.to, data + stage * chunk, each.bytes);
  }
};

// Moves chunks `next`, `next` + `step` and so on below `end`, in order. `unread` is 0 or kUnread, and less
// than the number of stages: a stage is loaded again once its store has read it, which is known `unread`
// stores later.
template <unsigned int unread>
struct Pipeline {
  const Ring& ring;
  Word next, end, step;
  Word stored = next;  // the next one to store
  unsigned int stage = 0, parity = 0, refill = 0, stores = 0;

  template <class ChunkAt>
  __device__ void fill(const ChunkAt& chunk_at) {
#pragma unroll 1
    for (unsigned int first = 0; first < ring.stages && next < end; ++first, next += step)
      ring.load(first, chunk_at(next));
  }
  // Until the chunks below `until` are stored.
  template <class ChunkAt>
  __device__ void advance(Word until, const ChunkAt& chunk_at) {
#pragma unroll 1
    for (; stored < until; stored += step) {
      barrier_wait(ring.barrier(stage), parity);
      ring.store(stage, chunk_at(stored));
      if (++stage == ring.stages) {
        stage = 0;
        parity ^= 1;
      }
      if (stores != unread) {
        ++stores;
      } else if (next < end) {
        wait_read<unread>();
        ring.load(refill, chunk_at(next));
        next += step;
        if (++refill == ring.stages) refill = 0;
      }
    }
  }
  __device__ static void finish() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");  // written, not only read
  }
};

}  // namespace byteways
#endif
