// Interfaces `stream-copy`, `stream-scale`, `stream-add` and `stream-triad`: the four loops of STREAM over
// doubles, with two doubles per load and store. The kernels `…_resident` have grids of chosen size.
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

// `in_flight` elements from i on, `step` apart; if not `whole`, only those below `count`.
template <unsigned int operation, unsigned int in_flight, bool whole>
__device__ inline void stream_some(Bytes16* destination, const Bytes16* first, const Bytes16* second, Word i,
                                   Word step, Word count) {
  constexpr bool two = operation == kStreamAdd || operation == kStreamTriad;
  Bytes16 a[in_flight], b[in_flight];
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k) {
    if (!whole && i + k * step >= count) break;
    a[k] = load_streaming(first + i + k * step);
    b[k] = two ? load_streaming(second + i + k * step) : a[k];
  }
#pragma unroll
  for (unsigned int k = 0; k < in_flight; ++k)
    if (whole || i + k * step < count)
      store_streaming(destination + i + k * step, computed<operation>(a[k], b[k]));
}

template <unsigned int operation>
struct Arrays {
  const Bytes16 *first, *second;
  Bytes16* destination;
  Word count;

  __device__ explicit Arrays(const StreamArguments& arguments) : count(arguments.bytes / sizeof(Bytes16)) {
    const Word offset = arguments.offset;
    first = reinterpret_cast<const Bytes16*>(static_cast<const char*>(arguments.first) + offset);
    second = reinterpret_cast<const Bytes16*>(static_cast<const char*>(arguments.second) + offset);
    destination = reinterpret_cast<Bytes16*>(static_cast<char*>(arguments.destination) + offset);
  }
  template <unsigned int in_flight, bool whole>
  __device__ void pass(Word i, Word step) const {
    stream_some<operation, in_flight, whole>(destination, first, second, i, step, count);
  }
};

// A thread for every element.
template <unsigned int operation>
__device__ inline void stream(const StreamArguments& arguments) {
  Arrays<operation>(arguments).template pass<1, false>(grid_thread(), 1);
}

// Whole passes in tiles that are contiguous in memory; the rest is spread over all blocks.
template <unsigned int operation>
__device__ inline void stream_resident(const StreamArguments& arguments) {
  const Arrays<operation> arrays(arguments);
  const unsigned int threads = block_threads(), tile = kStreamInFlight * threads;
  const Word pass = Word{grid_blocks()} * tile, own = Word{block_index()} * tile + thread_index();
  Word first = 0;
#pragma unroll 1
  for (; first + pass <= arrays.count; first += pass)
    arrays.template pass<kStreamInFlight, true>(first + own, threads);
  arrays.template pass<kStreamInFlight, false>(first + grid_thread(), grid_threads());
  if (arguments.fence != 0) fence_system();
}

BYTEWAYS_KERNEL(1024, 2) stream_copy(StreamArguments arguments) { stream<kStreamCopy>(arguments); }
BYTEWAYS_KERNEL(1024, 2) stream_scale(StreamArguments arguments) { stream<kStreamScale>(arguments); }
BYTEWAYS_KERNEL(1024, 2) stream_add(StreamArguments arguments) { stream<kStreamAdd>(arguments); }
BYTEWAYS_KERNEL(1024, 2) stream_triad(StreamArguments arguments) { stream<kStreamTriad>(arguments); }
BYTEWAYS_KERNEL(1024) stream_copy_resident(StreamArguments arguments) {
  stream_resident<kStreamCopy>(arguments);
}
BYTEWAYS_KERNEL(1024) stream_scale_resident(StreamArguments arguments) {
  stream_resident<kStreamScale>(arguments);
}
BYTEWAYS_KERNEL(1024) stream_add_resident(StreamArguments arguments) {
  stream_resident<kStreamAdd>(arguments);
}
BYTEWAYS_KERNEL(1024) stream_triad_resident(StreamArguments arguments) {
  stream_resident<kStreamTriad>(arguments);
}

}  // namespace byteways
