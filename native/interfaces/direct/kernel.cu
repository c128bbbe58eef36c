// Interface `direct`, protocol Simple: between two barriers of all ranks, each rank loads what it needs from
// the other ranks' buffers, and in two-shot allreduce stores its block of the sum into all of theirs. Who may
// store where, and when, is in arguments.hpp.
#include "interfaces/direct/signals.cuh"

namespace byteways {

__device__ inline Word low_half(const Bytes16& value) { return value.x | Word{value.y} << 32; }
__device__ inline Word high_half(const Bytes16& value) { return value.z | Word{value.w} << 32; }
__device__ inline Bytes16 sum_of(const Bytes16& one, const Bytes16& other) {
  const Word low = low_half(one) + low_half(other), high = high_half(one) + high_half(other);
  return {static_cast<unsigned int>(low), static_cast<unsigned int>(low >> 32),
          static_cast<unsigned int>(high), static_cast<unsigned int>(high >> 32)};
}

// The ranks in turn, from the next one on, so that not all of them load from one GPU at once.
__device__ inline unsigned int in_turn(const DirectArguments& a, unsigned int step) {
  const unsigned int rank = a.rank + 1 + step;
  return rank < a.ranks ? rank : rank - a.ranks;
}

// Where a rank loads from and stores to in this operation, as offsets from the ranks' buffers.
struct Exchange {
  Word from, to;
  unsigned int copies;  // of a sum, 1: to this rank alone
};
__device__ inline const char* message(const DirectArguments& a, const Exchange& x, unsigned int sender) {
  return a.sources[sender] + x.from;
}
__device__ inline char* place_of(const DirectArguments& a, const Exchange& x, unsigned int sender) {
  return a.destinations[a.rank] + x.to + sender * a.destination_stride;
}
__device__ inline char* copy_of_sum(const DirectArguments& a, const Exchange& x, unsigned int copy) {
  return a.destinations[x.copies > 1 ? in_turn(a, copy) : a.rank] + x.to;
}

// Some vectors, `stride` apart, as far as they are below `count`.
struct Vectors {
  Word first, stride, count;
};

// Of such vectors over all ranks, in registers.
struct Sums {
  Bytes16 of[kDirectInFlight];
};

template <bool kWhole>
__device__ inline Sums load_sums(const DirectArguments& a, const Exchange& x, const Vectors& some) {
  const Word first = some.first, stride = some.stride, count = some.count;
  Sums sum;
#pragma unroll
  for (unsigned int v = 0; v < kDirectInFlight; ++v) sum.of[v] = {0, 0, 0, 0};
#pragma unroll 2
  for (unsigned int step = 0; step < a.ranks; ++step) {
    const auto* from = reinterpret_cast<const Bytes16*>(message(a, x, in_turn(a, step))) + first;
    Bytes16 held[kDirectInFlight];
#pragma unroll
    for (unsigned int v = 0; v < kDirectInFlight; ++v)
      if (kWhole || first + v * stride < count) held[v] = load_streaming(from + v * stride);
#pragma unroll
    for (unsigned int v = 0; v < kDirectInFlight; ++v)
      if (kWhole || first + v * stride < count) sum.of[v] = sum_of(sum.of[v], held[v]);
  }
  return sum;
}

template <bool kWhole>
__device__ inline void store_sums(const DirectArguments& a, const Exchange& x, const Vectors& some,
                                  const Sums& sum) {
  const Word first = some.first, stride = some.stride, count = some.count;
#pragma unroll 1
  for (unsigned int copy = 0; copy < x.copies; ++copy) {
    auto* to = reinterpret_cast<Bytes16*>(copy_of_sum(a, x, copy)) + first;
#pragma unroll
    for (unsigned int v = 0; v < kDirectInFlight; ++v)
      if (kWhole || first + v * stride < count) store_streaming(to + v * stride, sum.of[v]);
  }
}

template <bool kWhole>
__device__ inline void place_vectors(const DirectArguments& a, const Exchange& x, const Vectors& some) {
  const Word first = some.first, stride = some.stride, count = some.count;
#pragma unroll 2
  for (unsigned int step = 0; step < a.ranks; ++step) {
    const unsigned int other = in_turn(a, step);
    const auto* from = reinterpret_cast<const Bytes16*>(message(a, x, other)) + first;
    auto* to = reinterpret_cast<Bytes16*>(place_of(a, x, other)) + first;
    if (reinterpret_cast<const char*>(from) == reinterpret_cast<char*>(to)) continue;  // in place
    Bytes16 held[kDirectInFlight];
#pragma unroll
    for (unsigned int v = 0; v < kDirectInFlight; ++v)
      if (kWhole || first + v * stride < count) held[v] = load_streaming(from + v * stride);
#pragma unroll
    for (unsigned int v = 0; v < kDirectInFlight; ++v)
      if (kWhole || first + v * stride < count) store_streaming(to + v * stride, held[v]);
  }
}

// Words that are no vectors: at the end, or all of them where a rank's block is not aligned.
template <class Element>
__device__ inline void move_elements(const DirectArguments& a, const Exchange& x, Word first, Word count) {
#pragma unroll 1
  for (Word i = first + grid_thread(); i < count; i += grid_threads()) {
    Element sum = 0;
#pragma unroll 1
    for (unsigned int step = 0; step < a.ranks; ++step) {
      const unsigned int other = in_turn(a, step);
      const Element held = load_global(reinterpret_cast<const Element*>(message(a, x, other)) + i);
      sum += held;
      if (a.adds != 0 || place_of(a, x, other) == message(a, x, other)) continue;  // or in place
      store_global(reinterpret_cast<Element*>(place_of(a, x, other)) + i, held);
    }
    if (a.adds == 0) continue;
#pragma unroll 1
    for (unsigned int copy = 0; copy < x.copies; ++copy)
      store_global(reinterpret_cast<Element*>(copy_of_sum(a, x, copy)) + i, sum);
  }
}

template <bool kWhole>
__device__ inline void move_vectors(const DirectArguments& a, const Exchange& x, const Vectors& some) {
  if (a.adds != 0)
    store_sums<kWhole>(a, x, some, load_sums<kWhole>(a, x, some));
  else
    place_vectors<kWhole>(a, x, some);
}

// Whole passes: each block moves tiles that are contiguous in memory. What remains is spread over all blocks,
// so that short messages use many multiprocessors. All ranks have grids of one shape: what a block of one
// rank moves, the same block of the others has written, or will.
__device__ inline void move_message(const DirectArguments& a, const Exchange& x, Word bytes) {
  const bool aligned = ((a.source_stride | a.destination_stride) & 15) == 0;
  const Word count = aligned ? bytes / 16 : 0;
  const Word tile = Word{kDirectInFlight} * block_threads();
  const Word pass = tile * grid_blocks();
  const Word end = count / pass * pass;
#pragma unroll 1
  for (Word first = Word{block_index()} * tile + thread_index(); first < end; first += pass)
    move_vectors<true>(a, x, {first, block_threads(), end});
  move_vectors<false>(a, x, {end + grid_thread(), grid_threads(), count});
  if (a.element_bytes == 4)
    move_elements<unsigned int>(a, x, count * 4, bytes / 4);
  else
    move_elements<Word>(a, x, count * 2, bytes / 8);
}

// Each rank's message to all others is loaded by its receiver.
BYTEWAYS_KERNEL(512) direct_pull(DirectArguments a) {
  Word epoch = first_epoch(a);
  for (Word k = a.first_operation; k < a.first_operation + a.operations; ++k, ++epoch) {
    const Exchange x{slot_of(a, k) + a.rank * a.source_stride, slot_of(a, k), 1};
    meet(a, epoch, kDirectBegin);
    move_message(a, x, a.bytes);
    meet(a, epoch, kDirectEnd);
  }
  end_block(a, epoch);
}

// Sums of one pass: loaded by all ranks before any of them stores.
template <bool kWhole>
__device__ inline void add_pass_in_place(const DirectArguments& a, const Exchange& x, const Vectors& some,
                                         Word epoch) {
  const Sums sum = load_sums<kWhole>(a, x, some);
  meet(a, epoch, kDirectEnd);
  store_sums<kWhole>(a, x, some, sum);
}

// The same of less than a vector, the end of a message.
template <class Element>
__device__ inline void add_rest_in_place(const DirectArguments& a, const Exchange& x, Word first,
                                         Word epoch) {
  const Word i = first + grid_thread();
  const bool mine = i < a.bytes / sizeof(Element);
  Element sum = 0;
#pragma unroll 1
  for (unsigned int step = 0; mine && step < a.ranks; ++step)
    sum += load_global(reinterpret_cast<const Element*>(message(a, x, in_turn(a, step))) + i);
  meet(a, epoch, kDirectEnd);
  if (mine) store_global(reinterpret_cast<Element*>(copy_of_sum(a, x, 0)) + i, sum);
}

// One-shot allreduce in place: a rank stores where all others load. So the sums of a pass stay in registers
// until all ranks have loaded that pass, and each pass is an epoch of its own. All ranks have as many.
BYTEWAYS_KERNEL(512) direct_pull_in_place(DirectArguments a) {
  Word epoch = first_epoch(a);
  const Word count = a.bytes / 16;
  const Word tile = Word{kDirectInFlight} * block_threads();
  const Word pass = tile * grid_blocks();
  const Word end = count / pass * pass;
  for (Word k = a.first_operation; k < a.first_operation + a.operations; ++k) {
    const Exchange x{slot_of(a, k), slot_of(a, k), 1};
    meet(a, epoch, kDirectBegin);
#pragma unroll 1
    for (Word first = 0; first < end; first += pass, ++epoch)
      add_pass_in_place<true>(a, x, {first + block_index() * tile + thread_index(), block_threads(), end},
                              epoch);
    if (end < count) add_pass_in_place<false>(a, x, {end + grid_thread(), grid_threads(), count}, epoch++);
    if (a.bytes % 16 != 0) {
      if (a.element_bytes == 4)
        add_rest_in_place<unsigned int>(a, x, count * 4, epoch++);
      else
        add_rest_in_place<Word>(a, x, count * 2, epoch++);
    }
    fence_stores_before_release();  // at the beginning of the next operation
  }
  end_block(a, epoch);
}

// Allreduce: rank r adds up block r of all ranks, and stores it into the destinations of all. `source_stride`
// is the size of a block; the last ones may be shorter.
BYTEWAYS_KERNEL(512) direct_two_shot(DirectArguments a) {
  Word epoch = first_epoch(a);
  const Word begin = a.rank * a.source_stride;
  const Word left = a.bytes > begin ? a.bytes - begin : 0;
  const Word bytes = left < a.source_stride ? left : a.source_stride;
  for (Word k = a.first_operation; k < a.first_operation + a.operations; ++k, ++epoch) {
    const Exchange x{slot_of(a, k) + begin, slot_of(a, k) + begin, a.ranks};
    meet(a, epoch, kDirectBegin);
    move_message(a, x, bytes);
    fence_stores_before_release();
    meet(a, epoch, kDirectEnd);
  }
  end_block(a, epoch);
}

// Between copies by copy engines: all ranks have come to this stage of the operation.
BYTEWAYS_KERNEL(512) direct_barrier(DirectArguments a) {
  const Word epoch = first_epoch(a);
  meet(a, epoch, a.stage);
  end_block(a, a.stage == kDirectEnd ? epoch + 1 : epoch);
}

}  // namespace byteways
