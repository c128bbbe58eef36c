// Plain kernels beside `kernel-bulk`, `kernel-2d`, `compute` and `ping-pong`, for kernels.cu.
#pragma once
#include <cstdint>
#include <cuda/barrier>
#include <cuda/ptx>

namespace special {

using Word = unsigned long long;
namespace ptx = cuda::ptx;

// A ring of chunks in shared memory, loaded and stored by bulk copies that one thread of a block issues.
constexpr unsigned kBlocks = 8, kSharedBytes = 208 << 10, kMostStages = 32;

__global__ void __launch_bounds__(32) bulk(char* to, const char* from, Word bytes, unsigned chunk) {
  extern __shared__ __align__(128) char ring[];
  __shared__ __align__(8) uint64_t loaded[kMostStages];
  if (threadIdx.x != 0) return;
  const unsigned stages = kSharedBytes / chunk < kMostStages ? kSharedBytes / chunk : kMostStages;
  const Word chunks = (bytes + chunk - 1) / chunk;
  for (unsigned stage = 0; stage < stages; ++stage) ptx::mbarrier_init(&loaded[stage], 1);
  ptx::fence_proxy_async(ptx::space_shared);
  const auto size = [&](Word k) { return static_cast<unsigned>(min(Word{chunk}, bytes - k * chunk)); };
  const auto load = [&](unsigned stage, Word k) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &loaded[stage],
                                   size(k));
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, ring + stage * chunk, from + k * chunk, size(k),
                       &loaded[stage]);
  };
  Word next = blockIdx.x;
  for (unsigned stage = 0; stage < stages && next < chunks; ++stage, next += gridDim.x) load(stage, next);
  unsigned stage = 0, parity = 0, freed = 0;
  for (Word k = blockIdx.x; k < chunks; k += gridDim.x) {
    while (!ptx::mbarrier_try_wait_parity(&loaded[stage], parity)) {
    }
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to + k * chunk, ring + stage * chunk, size(k));
    ptx::cp_async_bulk_commit_group();
    if (++stage == stages) stage = 0, parity ^= 1;
    // The store before this one has read its chunk: it is loaded again.
    if (k != blockIdx.x && next < chunks) {
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
      load(freed, next);
      next += gridDim.x;
      if (++freed == stages) freed = 0;
    }
  }
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// A row a block of the y axis and the rest of it: no division.
template <unsigned each>
__global__ void __launch_bounds__(1024)
    rows(char* to, const char* from, unsigned per_row, Word rows_, Word to_pitch, Word from_pitch) {
  for (Word first = (Word{blockIdx.x} * blockDim.y + threadIdx.y) * each; first < rows_;
       first += Word{gridDim.x} * blockDim.y * each)
    for (unsigned column = threadIdx.x; column < per_row; column += blockDim.x) {
      uint4 held[each];
#pragma unroll
      for (unsigned k = 0; k < each; ++k)
        if (first + k < rows_)
          held[k] = __ldcs(reinterpret_cast<const uint4*>(from + (first + k) * from_pitch) + column);
#pragma unroll
      for (unsigned k = 0; k < each; ++k)
        if (first + k < rows_)
          __stcs(reinterpret_cast<uint4*>(to + (first + k) * to_pitch) + column, held[k]);
    }
}

// Four chains of x = 3.9 x (1 - x) in each thread.
__global__ void __launch_bounds__(512) logistic(float* results, float seed, unsigned steps) {
  float x[4];
#pragma unroll
  for (unsigned chain = 0; chain < 4; ++chain)
    x[chain] = seed + 0.0625f * chain + 0.03125f * (threadIdx.x % 2);
#pragma unroll 8
  for (unsigned step = 0; step < steps; ++step)
#pragma unroll
    for (unsigned chain = 0; chain < 4; ++chain) {
      const float grown = 3.9f * x[chain];
      x[chain] = fmaf(-grown, x[chain], grown);
    }
  results[threadIdx.x + blockIdx.x * blockDim.x] = x[0] + x[1] + x[2] + x[3];
}

// One side of a ping-pong; `polls` and `writes` are words of 8 bytes.
__global__ void answer(Word* writes, const Word* polls, Word first, Word rounds, int leads) {
  const auto send = [&](Word number) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(writes), "l"(number) : "memory");
  };
  for (Word round = 0; round < rounds; ++round) {
    const Word number = first + round + 1;
    if (leads) send(number);
    Word seen = 0;
    do asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(seen) : "l"(polls) : "memory");
    while (seen != number);
    if (!leads) send(number);
  }
}

}  // namespace special
