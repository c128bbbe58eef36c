// Interface `kernel`: a copy by loads and stores of 16 bytes, eight of them in flight per thread.
#include "interfaces/kernel_copy/slots.cuh"

namespace byteways {

// Whole passes: each block copies tiles that are contiguous in memory, which suits DRAM pages and address
// translation. Returns the number of elements copied.
__device__ inline Word copy_tiles(Bytes16* destination, const Bytes16* source, Word count) {
  const unsigned int threads = block_threads();
  const Word tile = Word{kCopyInFlight} * threads;
  const Word pass = tile * grid_blocks();
  const Word end = count / pass * pass;
  for (Word i = block_index() * tile + thread_index(); i < end; i += pass) {
    Bytes16 held[kCopyInFlight];
#pragma unroll
    for (unsigned int k = 0; k < kCopyInFlight; ++k) held[k] = load_streaming(source + i + k * threads);
#pragma unroll
    for (unsigned int k = 0; k < kCopyInFlight; ++k) store_streaming(destination + i + k * threads, held[k]);
  }
  return end;
}

// Less than a pass remains: spread over all blocks, so that small copies use the whole device.
__device__ inline void copy_rest(Bytes16* destination, const Bytes16* source, Word first, Word count) {
  const Word threads = grid_threads();
  const Word i = first + grid_thread();
  Bytes16 held[kCopyInFlight];
#pragma unroll
  for (unsigned int k = 0; k < kCopyInFlight; ++k)
    if (i + k * threads < count) held[k] = load_streaming(source + i + k * threads);
#pragma unroll
  for (unsigned int k = 0; k < kCopyInFlight; ++k)
    if (i + k * threads < count) store_streaming(destination + i + k * threads, held[k]);
}

BYTEWAYS_KERNEL(1024) copy(CopyArguments arguments) {
  const char* source = source_of(arguments);
  char* destination = destination_of(arguments);
  const Word bytes = arguments.bytes;
  const Word misaligned = (reinterpret_cast<Word>(source) | reinterpret_cast<Word>(destination)) & 15;
  const Word count = misaligned ? 0 : bytes / 16;
  auto* to = reinterpret_cast<Bytes16*>(destination);
  const auto* from = reinterpret_cast<const Bytes16*>(source);
  const Word done = copy_tiles(to, from, count);
  copy_rest(to, from, done, count);
  copy_bytes(destination, source, count * 16, bytes, grid_thread(), grid_threads());
  fence_system();  // completes the stores at the destination before the kernel ends
}

}  // namespace byteways
