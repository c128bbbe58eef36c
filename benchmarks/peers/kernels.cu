// Plain CUDA kernels that do the work of byteways' interfaces, for kernel_peer.py, which compiles this file
// as a shared library and calls it in the process of byteways, on the same buffers. Each kernel has a few
// shapes; the caller takes the fastest. A batch waits behind a kernel that spins until all of it is enqueued.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "special_kernels.cuh"

namespace {

using Word = unsigned long long;

struct Job {
  char* destination;
  const char *first, *second;
  Word bytes, slots, stride;
};

// Data is used once: evict it first.
__device__ inline uint4 load(const uint4* from) { return __ldcs(from); }
__device__ inline void store(uint4* to, uint4 value) { __stcs(to, value); }

__device__ inline Word mixed(Word word) {
  word *= 0x9E3779B97F4A7C15ull;
  return word ^ word >> 32;
}
__device__ inline uint4 pair(Word index) {
  const Word a = mixed(index), b = mixed(index + 1);
  return make_uint4(a, a >> 32, b, b >> 32);
}
__device__ inline Word sum_of(uint4 v) { return (v.x | Word{v.y} << 32) + (v.z | Word{v.w} << 32); }

// A block has `each` elements of a thread, adjacent blocks adjacent ones; the grid may be smaller than all.
template <unsigned each>
__global__ void __launch_bounds__(1024) copy(uint4* to, const uint4* from, Word count) {
  const Word tile = Word{each} * blockDim.x;
  for (Word first = blockIdx.x * tile + threadIdx.x; first < count; first += gridDim.x * tile) {
    uint4 held[each];
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
      if (first + k * blockDim.x < count) held[k] = load(from + first + k * blockDim.x);
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
      if (first + k * blockDim.x < count) store(to + first + k * blockDim.x, held[k]);
  }
}

template <unsigned each>
__global__ void __launch_bounds__(1024) fill(uint4* to, Word count) {
  const Word tile = Word{each} * blockDim.x;
  for (Word first = blockIdx.x * tile + threadIdx.x; first < count; first += gridDim.x * tile) {
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
      if (first + k * blockDim.x < count)
        store(to + first + k * blockDim.x, pair(2 * (first + k * blockDim.x)));
  }
}

__device__ Word total;

template <unsigned each>
__global__ void __launch_bounds__(1024) sum(const uint4* from, Word count) {
  const Word tile = Word{each} * blockDim.x;
  Word own = 0;
  for (Word first = blockIdx.x * tile + threadIdx.x; first < count; first += gridDim.x * tile) {
    uint4 held[each];
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
      held[k] = first + k * blockDim.x < count ? load(from + first + k * blockDim.x) : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (unsigned k = 0; k < each; ++k) own += sum_of(held[k]);
  }
  __shared__ Word of_warp[32];
  for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(~0u, own, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  own = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
  for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(~0u, own, step);
  if (threadIdx.x == 0) atomicAdd(&total, own);
}

enum Operation { kCopy, kScale, kAdd, kTriad };

template <Operation operation, unsigned each>
__global__ void __launch_bounds__(1024)
    stream(double2* to, const double2* first, const double2* second, Word count) {
  const Word tile = Word{each} * blockDim.x;
  for (Word begin = blockIdx.x * tile + threadIdx.x; begin < count; begin += gridDim.x * tile) {
    double2 a[each], b[each];
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      const Word i = begin + k * blockDim.x;
      if (i >= count) break;
      a[k] = __ldcs(first + i);
      if (operation == kAdd || operation == kTriad) b[k] = __ldcs(second + i);
    }
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      const Word i = begin + k * blockDim.x;
      if (i >= count) break;
      if (operation == kScale) a[k] = {3 * a[k].x, 3 * a[k].y};
      if (operation == kAdd) a[k] = {a[k].x + b[k].x, a[k].y + b[k].y};
      if (operation == kTriad) a[k] = {a[k].x + 3 * b[k].x, a[k].y + 3 * b[k].y};
      __stcs(to + i, a[k]);
    }
  }
}

// An order that visits every word once, by odd multiplications and shifts; `factor` and `offset` differ
// between operations.
struct Order {
  unsigned factor, offset, mask, shift;

  __device__ unsigned place(unsigned index) const {
    index = index * factor + offset & mask;
    index ^= index >> shift;
    index = index * 0x85EBCA6Bu & mask;
    return index ^ index >> shift;
  }
};

enum Access { kLoad, kStore, kUpdate };

template <Access access, unsigned each>
__global__ void __launch_bounds__(1024) scattered(Word* words, Word count, Order order) {
  const unsigned threads = gridDim.x * blockDim.x;
  Word own = 0;
  for (Word first = blockIdx.x * blockDim.x + threadIdx.x; first < count; first += Word{each} * threads) {
    Word held[each];
    unsigned at[each];
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      at[k] = order.place(first + k * threads);
      if (first + k * threads < count && access != kStore) held[k] = words[at[k]];
    }
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      if (first + k * threads >= count) break;
      if (access == kLoad) own += held[k] == mixed(at[k]);
      if (access == kStore) words[at[k]] = mixed(at[k]);
      if (access == kUpdate) words[at[k]] = mixed(held[k]);
    }
  }
  if (access != kLoad) return;
  __shared__ Word of_warp[32];
  for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(~0u, own, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned k = 1; k < blockDim.x / 32; ++k) own += of_warp[k];
  atomicAdd(&total, own);
}

__global__ void gate(volatile const unsigned* open) {
  while (*open == 0) __nanosleep(100);
}

bool failed(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return false;
  std::fprintf(stderr, "error: %s: %s\n", what, cudaGetErrorString(code));
  return true;
}

// Blocks of a grid: as many as tiles (`resident` 0), or so many on a multiprocessor at most.
struct Shape {
  unsigned threads, each, resident;
};
const Shape kShapes[] = {{256, 1, 0}, {512, 1, 0}, {256, 4, 0}, {512, 4, 0},
                         {256, 4, 8}, {512, 4, 4}, {256, 1, 8}};

unsigned blocks_of(const Shape& shape, Word count) {
  static const Word processors = [] {
    int device = 0, found = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, device);
    return static_cast<Word>(found);
  }();
  const Word tile = Word{shape.threads} * shape.each, tiles = (count + tile - 1) / tile;
  const Word spread = (count + shape.threads - 1) / shape.threads;
  return shape.resident == 0 ? tiles : std::min(spread, processors * shape.resident);
}

template <unsigned each>
bool launched(const std::string& what, const Job& job, Word slot, const Shape& shape, cudaStream_t stream_) {
  const Word offset = slot * job.stride, count = job.bytes / sizeof(uint4), words = job.bytes / sizeof(Word);
  auto* to = reinterpret_cast<uint4*>(job.destination + offset);
  const auto* from = reinterpret_cast<const uint4*>(job.first + offset);
  auto* doubles = reinterpret_cast<double2*>(to);
  const auto* one = reinterpret_cast<const double2*>(from);
  const auto* two = reinterpret_cast<const double2*>(job.second + offset);
  const unsigned blocks = blocks_of(shape, count), threads = shape.threads;
  unsigned shift = 1;
  while (Word{1} << 2 * shift < words) ++shift;
  const unsigned by_word = blocks_of(shape, words);
  auto* random = reinterpret_cast<Word*>(to);
  const unsigned drawn = static_cast<unsigned>(slot * 0x9E3779B97F4A7C15ull >> 32);
  const Order order{drawn | 1u, drawn * 3, static_cast<unsigned>(words - 1), shift};
  if (what == "kernel")
    copy<each><<<blocks, threads, 0, stream_>>>(to, from, count);
  else if (what == "store")
    fill<each><<<blocks, threads, 0, stream_>>>(to, count);
  else if (what == "load")
    sum<each><<<blocks, threads, 0, stream_>>>(from, count);
  else if (what == "stream-copy")
    stream<kCopy, each><<<blocks, threads, 0, stream_>>>(doubles, one, two, count);
  else if (what == "stream-scale")
    stream<kScale, each><<<blocks, threads, 0, stream_>>>(doubles, one, two, count);
  else if (what == "stream-add")
    stream<kAdd, each><<<blocks, threads, 0, stream_>>>(doubles, one, two, count);
  else if (what == "stream-triad")
    stream<kTriad, each><<<blocks, threads, 0, stream_>>>(doubles, one, two, count);
  else if (what == "random-load")
    scattered<kLoad, each><<<by_word, threads, 0, stream_>>>(random, words, order);
  else if (what == "random-store")
    scattered<kStore, each><<<by_word, threads, 0, stream_>>>(random, words, order);
  else if (what == "random-update")
    scattered<kUpdate, each><<<by_word, threads, 0, stream_>>>(random, words, order);
  else
    return false;
  return true;
}

// Rows of kernel-2d: as kernel_peer.py asks byteways for them.
constexpr unsigned kRowBytes = 4096, kPitchBytes = 8192;

void launch_rows(char* to, const char* from, Word bytes, const Shape& shape, cudaStream_t stream) {
  const unsigned per_row = kRowBytes / sizeof(uint4);
  const dim3 threads(std::min(per_row, shape.threads), std::max(1u, shape.threads / per_row));
  const Word rows = bytes / kRowBytes;
  const unsigned blocks = std::max<Word>(1, blocks_of(shape, bytes / sizeof(uint4)));
  if (shape.each == 1)
    special::rows<1><<<blocks, threads, 0, stream>>>(to, from, per_row, rows, kRowBytes, kPitchBytes);
  else
    special::rows<4><<<blocks, threads, 0, stream>>>(to, from, per_row, rows, kRowBytes, kPitchBytes);
}

// The shape's number chooses the chunk: 1 KiB for the first one, twice as much for each next one.
bool launch_bulk(char* to, const char* from, Word bytes, const Shape& shape, cudaStream_t stream) {
  static const bool allowed = !failed(
      cudaFuncSetAttribute(special::bulk, cudaFuncAttributeMaxDynamicSharedMemorySize, special::kSharedBytes),
      "cudaFuncSetAttribute");
  const unsigned chunk = std::min(16u << 10, 1024u << (&shape - kShapes));
  special::bulk<<<special::kBlocks, 32, special::kSharedBytes, stream>>>(to, from, bytes, chunk);
  return allowed;
}

bool launch(const std::string& what, const Job& job, Word slot, const Shape& shape, cudaStream_t stream) {
  char* to = job.destination + slot * job.stride;
  const char* from = job.first + slot * job.stride;
  if (what == "copy")
    return !failed(cudaMemcpyAsync(to, from, job.bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
  if (what == "kernel-bulk") return launch_bulk(to, from, job.bytes, shape, stream);
  if (what == "kernel-2d") return launch_rows(to, from, job.bytes, shape, stream), true;
  if (what == "compute") {
    const unsigned blocks = blocks_of({512, 1, 2}, ~0u);
    special::logistic<<<blocks, 512, 0, stream>>>(reinterpret_cast<float*>(to), 0.2f, 8192);
    return true;
  }
  return shape.each == 1 ? launched<1>(what, job, slot, shape, stream)
                         : launched<4>(what, job, slot, shape, stream);
}

}  // namespace

extern "C" unsigned peer_shapes() { return sizeof kShapes / sizeof kShapes[0]; }
extern "C" const char* peer_shape(unsigned index) {
  static std::string text;
  const Shape& shape = kShapes[index];
  text = std::to_string(shape.threads) + " threads x " + std::to_string(shape.each) +
         (shape.resident == 0 ? "" : ", " + std::to_string(shape.resident) + " blocks an SM");
  return text.c_str();
}

// Nanoseconds of `count` operations of gpu `device` by device events, from slot `first` on; below 0: it
// failed.
extern "C" double peer_batch(int device, const char* what, char* destination, const char* first_source,
                             const char* second_source, Word bytes, Word slots, Word stride, unsigned shape,
                             Word first, Word count) {
  static unsigned* open = nullptr;
  static cudaStream_t stream = nullptr;
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (failed(cudaSetDevice(device), "cudaSetDevice")) return -1;
  if (stream == nullptr) {
    if (failed(cudaHostAlloc(&open, sizeof *open, cudaHostAllocMapped), "cudaHostAlloc") ||
        failed(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate") ||
        failed(cudaEventCreate(&begin), "cudaEventCreate") ||
        failed(cudaEventCreate(&end), "cudaEventCreate"))
      return -1;
  }
  const Job job{destination, first_source, second_source, bytes, slots, stride};
  if (!launch(what, job, first % slots, kShapes[shape], stream)) return -1;  // loads the kernel
  if (failed(cudaStreamSynchronize(stream), "launch")) return -1;
  volatile unsigned* flag = open;
  *flag = 0;
  gate<<<1, 1, 0, stream>>>(open);
  cudaEventRecord(begin, stream);
  bool right = true;
  for (Word k = 0; k < count && right; ++k)
    right = launch(what, job, (first + k) % slots, kShapes[shape], stream);
  cudaEventRecord(end, stream);
  *flag = 1;
  float milliseconds = 0;
  if (failed(cudaStreamSynchronize(stream), "batch") || !right ||
      failed(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime"))
    return -1;
  return milliseconds * 1e6;
}

// Nanoseconds of one round trip of `rounds` between a kernel of gpu `leader` and one of gpu `partner`, of
// which each writes the other's word, as byteways places them: the leader's word in `ours`, the partner's in
// `theirs`.
extern "C" double peer_ping_pong(int leader, int partner, Word* ours, Word* theirs, Word rounds) {
  struct Side {
    cudaStream_t stream;
    cudaEvent_t begin, end;
  };
  static Side sides[16][2];
  const auto side = [](int device, int role) -> Side& {
    Side& found = sides[device][role];
    cudaSetDevice(device);
    if (found.stream == nullptr) {
      cudaStreamCreateWithFlags(&found.stream, cudaStreamNonBlocking);
      cudaEventCreate(&found.begin);
      cudaEventCreate(&found.end);
    }
    return found;
  };
  cudaSetDevice(leader);
  static Word next = Word{1} << 40;  // numbers that the words do not hold yet
  const Side& answering = side(partner, 1);
  special::answer<<<1, 1, 0, answering.stream>>>(theirs, ours, next, rounds, 0);
  const Side& leading = side(leader, 0);
  cudaEventRecord(leading.begin, leading.stream);
  special::answer<<<1, 1, 0, leading.stream>>>(ours, theirs, next, rounds, 1);
  cudaEventRecord(leading.end, leading.stream);
  next += rounds;
  float milliseconds = 0;
  if (failed(cudaStreamSynchronize(leading.stream), "ping-pong") ||
      failed(cudaStreamSynchronize(answering.stream), "ping-pong") ||
      failed(cudaEventElapsedTime(&milliseconds, leading.begin, leading.end), "cudaEventElapsedTime"))
    return -1;
  return milliseconds * 1e6 / rounds;
}
