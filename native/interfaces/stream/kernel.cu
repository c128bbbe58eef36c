// Interfaces `stream-copy`, `stream-scale`, `stream-add` and `stream-triad`: the four loops of STREAM over
// doubles, with two doubles per load and store.
#include "interfaces/device/prelude.cuh"
#include "interfaces/stream/arguments.hpp"

namespace byteways {

template <unsigned int operation>
__device__ inline Bytes16 computed(const Bytes16& first, const Bytes16& second) {
  if (operation == kStreamCopy) return first;
  union Doubles {
    Bytes16 bytes;
    struct {
      double low, high;
    } value;
  };
  Doubles a, b;
  a.bytes = first;
  b.bytes = second;
  if (operation == kStreamScale) {
    a.value.low *= kStreamScalar;
    a.value.high *= kStreamScalar;
  } else {
    const double factor = operation == kStreamTriad ? kStreamScalar : 1;
    a.value.low += factor * b.value.low;
    a.value.high += factor * b.value.high;
  }
  return a.bytes;
}

// kStreamInFlight elements from i on, `step` apart; if not `whole`, only those below `count`.
template <unsigned int operation, bool whole>
__device__ inline void stream_some(Bytes16* destination, const Bytes16* first, const Bytes16* second, Word i,
                                   Word step, Word count) {
  constexpr bool two = operation == kStreamAdd || operation == kStreamTriad;
  Bytes16 a[kStreamInFlight], b[kStreamInFlight];
#pragma unroll
  for (unsigned int k = 0; k < kStreamInFlight; ++k) {
    if (!whole && i + k * step >= count) break;
    a[k] = load_streaming(first + i + k * step);
    b[k] = two ? load_streaming(second + i + k * step) : a[k];
  }
#pragma unroll
  for (unsigned int k = 0; k < kStreamInFlight; ++k)
    if (whole || i + k * step < count)
      store_streaming(destination + i + k * step, computed<operation>(a[k], b[k]));
}

// Whole passes in tiles that are contiguous in memory; the rest is spread over all blocks.
template <unsigned int operation>
__device__ inline void stream(const StreamArguments& arguments) {
  const Word slot = arguments.slots > 1 ? arguments.first_operation % arguments.slots : 0;
  const Word offset = slot * arguments.stride, count = arguments.bytes / sizeof(Bytes16);
  const auto* first = reinterpret_cast<const Bytes16*>(static_cast<const char*>(arguments.first) + offset);
  const auto* second = reinterpret_cast<const Bytes16*>(static_cast<const char*>(arguments.second) + offset);
  auto* destination = reinterpret_cast<Bytes16*>(static_cast<char*>(arguments.destination) + offset);
  const Word tile = Word{kStreamInFlight} * block_threads(), pass = tile * grid_blocks();
  const Word end = count / pass * pass;
  for (Word i = block_index() * tile + thread_index(); i < end; i += pass)
    stream_some<operation, true>(destination, first, second, i, block_threads(), end);
  if (end < count)
    stream_some<operation, false>(destination, first, second, end + grid_thread(), grid_threads(), count);
  if (arguments.fence != 0) fence_system();
}

BYTEWAYS_KERNEL(1024) stream_copy(StreamArguments arguments) { stream<kStreamCopy>(arguments); }
BYTEWAYS_KERNEL(1024) stream_scale(StreamArguments arguments) { stream<kStreamScale>(arguments); }
BYTEWAYS_KERNEL(1024) stream_add(StreamArguments arguments) { stream<kStreamAdd>(arguments); }
BYTEWAYS_KERNEL(1024) stream_triad(StreamArguments arguments) { stream<kStreamTriad>(arguments); }

}  // namespace byteways
