// Interface `load`: loads of 16 bytes, eight in flight per thread, without stores except one sum per block,
// which proves that every word was read.
#include "interfaces/device/block_sum.cuh"
#include "interfaces/load/arguments.hpp"

namespace byteways {

__device__ inline Word sum_of(const Bytes16& pair) {
  return load_word(pair.x | Word{pair.y} << 32) + load_word(pair.z | Word{pair.w} << 32);
}

BYTEWAYS_KERNEL(1024) load(LoadArguments arguments) {
  const Word slot = arguments.slots > 1 ? arguments.first_operation % arguments.slots : 0;
  const auto* from =
      reinterpret_cast<const Bytes16*>(static_cast<const char*>(arguments.data) + slot * arguments.stride);
  const Word count = arguments.bytes / sizeof(Bytes16), threads = grid_threads();
  const Word pass = threads * kCopyInFlight, whole = count / pass * pass;
  Word sum = 0;
  for (Word first = grid_thread(); first < whole; first += pass) {
    Bytes16 held[kCopyInFlight];
#pragma unroll
    for (unsigned int k = 0; k < kCopyInFlight; ++k) held[k] = load_streaming(from + first + k * threads);
#pragma unroll
    for (unsigned int k = 0; k < kCopyInFlight; ++k) sum += sum_of(held[k]);
  }
  for (Word i = whole + grid_thread(); i < count; i += threads) sum += sum_of(load_streaming(from + i));
  sum = sum_of_block(sum);
  if (thread_index() == 0) atomic_add(arguments.sum, sum);
  fence_system();
}

}  // namespace byteways
