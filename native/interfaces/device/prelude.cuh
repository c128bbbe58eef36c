// Hides all differences between the vendors' device compilers: kernels use only the names defined here.
// Compiled without any header by NVRTC and nvcc (NVIDIA), by hipRTC and `clang -x hip -nogpuinc` (AMD).
#pragma once

#if defined(__HIP__) || defined(__HIPCC_RTC__)
#define BYTEWAYS_AMD 1
#else
#define BYTEWAYS_NVIDIA 1
#endif

#if defined(BYTEWAYS_AMD) && !defined(__global__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#endif

#include "interfaces/device/data_pattern.hpp"

namespace byteways {

using Word = unsigned long long;

// The 16 bytes that one thread loads or stores with one instruction.
struct alignas(16) Bytes16 {
  unsigned int x, y, z, w;
};

#if defined(BYTEWAYS_NVIDIA)

// Most threads of a block, and where a second number is given the fewest blocks of that size on a
// multiprocessor: 1 leaves a thread registers for many loads in flight, which the compiler otherwise does not
// always use.
#define BYTEWAYS_KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)

__device__ inline unsigned int thread_index() { return threadIdx.x; }
__device__ inline unsigned int block_index() { return blockIdx.x; }
__device__ inline unsigned int block_threads() { return blockDim.x; }
__device__ inline unsigned int grid_blocks() { return gridDim.x; }
__device__ inline void synchronize_block() { __syncthreads(); }

// Streamed data is used once: evict it first, so that a copy displaces little other cached data.
__device__ inline Bytes16 load_streaming(const Bytes16* from) {
  Bytes16 value;
  asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(__cvta_generic_to_global(from)));
  return value;
}
__device__ inline void store_streaming(Bytes16* to, Bytes16 value) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ inline unsigned int load_acquire_system(const unsigned int* from) {
  unsigned int value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return value;
}
__device__ inline Word load_acquire_system(const Word* from) {
  Word value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];"
               : "=l"(value)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return value;
}
__device__ inline void store_release_system(Word* to, Word value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(to)), "l"(value)
               : "memory");
}
// System scope: never served by this multiprocessor's L1, only by a cache that is coherent with the owner.
__device__ inline Word load_relaxed_system(const Word* from) {
  Word value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(from)));
  return value;
}
// As `*from` in a program: the multiprocessor's L1 may serve it, whoever owns the memory.
__device__ inline Word load_ordinary(const Word* from) {
  Word value;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(from)));
  return value;
}
// Memory of a GPU at an address that is computed: never shared memory.
template <class T>
__device__ inline T load_global(const T* from) {
  return *from;
}
template <class T>
__device__ inline void store_global(T* to, T value) {
  *to = value;
}
// A word in two halves with a flag beside each: 8 bytes are stored and loaded as a whole, so that a half is
// there when its flag is (protocol LL of NCCL, src/device/prims_ll.h).
__device__ inline void store_flagged(Bytes16* to, Word value, unsigned int flag) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(static_cast<unsigned int>(value)), "r"(flag),
                 "r"(static_cast<unsigned int>(value >> 32)), "r"(flag)
               : "memory");
}
__device__ inline Bytes16 load_flagged(const Bytes16* from) {
  Bytes16 value;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return value;
}
// Completes a thread's stores where a release by another thread of its block, after a barrier, does not: here
// it does (PTX ISA, memory consistency model: causality order is cumulative).
__device__ inline void fence_stores_before_release() {}
__device__ inline void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
__device__ inline void fence_sequential() { asm volatile("fence.sc.sys;" ::: "memory"); }
__device__ inline void pause() { __nanosleep(20); }
__device__ inline void pause_long() { __nanosleep(20000); }
// Steps by 32 ns or more (CUDA C++ Programming Guide: %globaltimer).
__device__ inline Word clock_nanoseconds() {
  Word now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__device__ inline float fused_multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline unsigned int bits_of(float value) { return __float_as_uint(value); }

__device__ inline void atomic_add(unsigned int* to, unsigned int value) { atomicAdd(to, value); }
__device__ inline void atomic_add(Word* to, Word value) { atomicAdd(to, value); }
__device__ inline Word atomic_minimum(Word* to, Word value) { return atomicMin(to, value); }
__device__ inline void atomic_store(Word* to, Word value) { atomicExch(to, value); }

// The sum over the threads of a wave (a warp), all of which take part.
__device__ inline unsigned int wave_threads() { return 32; }
__device__ inline Word sum_of_wave(Word own) {
#pragma unroll
  for (unsigned int step = 16; step > 0; step /= 2) own += __shfl_xor_sync(~0u, own, step);
  return own;
}

// Keeps the value in a vector register, one copy per lane; here every register is one.
__device__ inline Word per_lane(Word value) { return value; }

#else  // BYTEWAYS_AMD

#define BYTEWAYS_FIRST(first, ...) first
#define BYTEWAYS_KERNEL(...) \
  extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(1, BYTEWAYS_FIRST(__VA_ARGS__, 0))))

using Vector = unsigned int __attribute__((ext_vector_type(4)));

// Address space 1 is global memory. If the compiler cannot infer it, it emits flat accesses, which also wait
// for the block's shared memory.
#define BYTEWAYS_GLOBAL __attribute__((address_space(1)))
template <class T>
__device__ inline BYTEWAYS_GLOBAL T* global(T* pointer) {
  return (BYTEWAYS_GLOBAL T*)pointer;
}

__device__ inline unsigned int thread_index() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline unsigned int block_index() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline unsigned int block_threads() { return __builtin_amdgcn_workgroup_size_x(); }
// The launch packet has the grid size in threads, in all versions of the code object.
__device__ inline unsigned int grid_blocks() {
  return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
}
__device__ inline void synchronize_block() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Streamed data is used once: evict it from the L2 first ("nt"; on gfx90a "glc slc").
__device__ inline Bytes16 load_streaming(const Bytes16* from) {
  const Vector value = __builtin_nontemporal_load((const BYTEWAYS_GLOBAL Vector*)from);
  return {value.x, value.y, value.z, value.w};
}
__device__ inline void store_streaming(Bytes16* to, Bytes16 value) {
  const Vector vector = {value.x, value.y, value.z, value.w};
  __builtin_nontemporal_store(vector, (BYTEWAYS_GLOBAL Vector*)to);
}

// A concurrent write by the host is visible only if the word is in coherent (fine-grained) host memory.
__device__ inline unsigned int load_acquire_system(const unsigned int* from) {
  return __hip_atomic_load(global(from), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
// A write by a peer is visible only if the word is in fine-grained memory.
__device__ inline Word load_acquire_system(const Word* from) {
  return __hip_atomic_load(global(from), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline void store_release_system(Word* to, Word value) {
  __hip_atomic_store(global(to), value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
// System scope: never served by the L1. Fine-grained memory of another device is not served by this device's
// L2 either; coarse-grained memory of a peer may be (LLVM, User Guide for AMDGPU Backend, memory model
// gfx90a: memory not local to the L2 is non-coherent, and valid until the next system-scope acquire). A
// working set larger than the L2, or in fine-grained memory, shows the link.
__device__ inline Word load_relaxed_system(const Word* from) {
  return __hip_atomic_load(global(from), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
// As `*from` in a program: L1 and L2 of this device may serve it, whoever owns the memory.
__device__ inline Word load_ordinary(const Word* from) { return *global(from); }
template <class T>
__device__ inline T load_global(const T* from) {
  return *(const BYTEWAYS_GLOBAL T*)from;
}
template <class T>
__device__ inline void store_global(T* to, T value) {
  *(BYTEWAYS_GLOBAL T*)to = value;
}
// As on NVIDIA, in memory that is fine-grained or uncached.
__device__ inline void store_flagged(Bytes16* to, Word value, unsigned int flag) {
  auto* halves = reinterpret_cast<Word*>(to);
  const Word flagged = Word{flag} << 32;
  __hip_atomic_store(global(halves), (value & 0xffffffffull) | flagged, __ATOMIC_RELAXED,
                     __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(global(halves + 1), (value >> 32) | flagged, __ATOMIC_RELAXED,
                     __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline Bytes16 load_flagged(const Bytes16* from) {
  const Word low = load_relaxed_system(reinterpret_cast<const Word*>(from));
  const Word high = load_relaxed_system(reinterpret_cast<const Word*>(from) + 1);
  return {static_cast<unsigned int>(low), static_cast<unsigned int>(low >> 32),
          static_cast<unsigned int>(high), static_cast<unsigned int>(high >> 32)};
}
// Each wave completes its own stores: a release waits for those of its own wave (LLVM, User Guide for AMDGPU
// Backend, memory model gfx90a).
__device__ inline void fence_stores_before_release() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, ""); }
// Writes back the L2 and waits for all stores, including those to coarse-grained peer memory.
__device__ inline void fence_system() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, ""); }
__device__ inline void fence_sequential() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
// In steps of 64 clocks.
__device__ inline void pause() { __builtin_amdgcn_s_sleep(1); }
__device__ inline void pause_long() { __builtin_amdgcn_s_sleep(127); }
// The constant clock of 100 MHz (ISA documents of CDNA 2 and 3: S_MEMREALTIME).
__device__ inline Word clock_nanoseconds() { return __builtin_amdgcn_s_memrealtime() * 10; }

__device__ inline float fused_multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__device__ inline unsigned int bits_of(float value) { return __builtin_bit_cast(unsigned int, value); }

// The words may be in host memory, where PCIe supports only addition, exchange and compare-and-swap ("How
// ROCm uses PCIe atomics"). So the minimum is built from compare-and-swap.
__device__ inline void atomic_add(unsigned int* to, unsigned int value) {
  __hip_atomic_fetch_add(global(to), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline void atomic_add(Word* to, Word value) {
  __hip_atomic_fetch_add(global(to), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline Word atomic_minimum(Word* to, Word value) {
  Word seen = __hip_atomic_load(global(to), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  while (value < seen && !__hip_atomic_compare_exchange_strong(global(to), &seen, value, __ATOMIC_RELAXED,
                                                               __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)) {
  }
  return seen;
}
__device__ inline void atomic_store(Word* to, Word value) {
  __hip_atomic_store(global(to), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

#if __has_builtin(__builtin_amdgcn_wavefrontsize)
__device__ inline unsigned int wave_threads() { return __builtin_amdgcn_wavefrontsize(); }
#else  // hipRTC 5
__device__ inline unsigned int wave_threads() { return __AMDGCN_WAVEFRONT_SIZE; }
#endif
__device__ inline Word sum_of_wave(Word own) {
  const unsigned int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  for (unsigned int step = wave_threads() / 2; step > 0; step /= 2) {
    const int from = static_cast<int>((lane ^ step) * 4);  // in bytes of a register
    const auto low = static_cast<unsigned int>(__builtin_amdgcn_ds_bpermute(from, static_cast<int>(own)));
    const auto high =
        static_cast<unsigned int>(__builtin_amdgcn_ds_bpermute(from, static_cast<int>(own >> 32)));
    own += low | Word{high} << 32;
  }
  return own;
}

// A value equal in all lanes would be kept in a scalar register: moved back and forth in every step of a
// dependent loop, or even loaded through the scalar cache.
__device__ inline Word per_lane(Word value) {
  asm volatile("" : "+v"(value));
  return value;
}

#endif

__device__ inline Word grid_thread() { return Word{block_index()} * block_threads() + thread_index(); }
// The first access of this thread where a block makes `each` accesses a thread to adjacent memory, for grids
// that cover the data: choose_kernel() (pattern.hpp) sees to it that 32 bits hold the numbers of accesses.
__device__ inline unsigned int tile_thread(unsigned int each) {
  return block_index() * (each * block_threads()) + thread_index();
}
__device__ inline Word grid_threads() { return Word{grid_blocks()} * block_threads(); }

}  // namespace byteways
