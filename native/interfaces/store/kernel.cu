// Interface `store`: stores of 16 bytes without loads. Words are generated in registers by one multiplication
// and one fold each, which is faster than memory.
#include "interfaces/device/prelude.cuh"
#include "interfaces/store/arguments.hpp"

namespace byteways {

__device__ inline Bytes16 pattern_pair(Word key, Word index) {
  const Word low = pattern_word(key, index), high = pattern_word(key, index + 1);
  return {static_cast<unsigned int>(low), static_cast<unsigned int>(low >> 32),
          static_cast<unsigned int>(high), static_cast<unsigned int>(high >> 32)};
}

BYTEWAYS_KERNEL(1024) store(StoreArguments arguments) {
  const Word slot = arguments.slots > 1 ? arguments.first_operation % arguments.slots : 0;
  const Word offset = slot * arguments.stride, threads = grid_threads();
  auto* to = reinterpret_cast<Bytes16*>(static_cast<char*>(arguments.data) + offset);
  const Word count = arguments.bytes / sizeof(Bytes16), first = offset / sizeof(Word);
#pragma unroll 4
  for (Word i = grid_thread(); i < count; i += threads)
    store_streaming(to + i, pattern_pair(arguments.key, first + 2 * i));
  fence_system();  // completes the stores, wherever the buffer is, before the kernel ends
}

}  // namespace byteways
