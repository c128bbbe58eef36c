// Interfaces `random-load`, `random-store` and `random-update`: independent accesses to the elements of a
// buffer in random order, each element once. A thread moves at most 16 bytes by one instruction; adjacent
// threads share a larger element, so that it is one transaction.
#include "interfaces/device/block_sum.cuh"
#include "interfaces/random_access/arguments.hpp"

namespace byteways {

template <class Piece>
struct Pieces {
  char* base;
  Word first_word;  // of the slot in the buffer
  unsigned int sharing_bits;
  RandomOrder order;

  __device__ explicit Pieces(const RandomArguments& arguments)
      : sharing_bits(arguments.sharing_bits), order(arguments.first_operation, arguments.access_bits) {
    base = static_cast<char*>(arguments.data) + arguments.offset;
    first_word = arguments.offset / sizeof(Word);
  }
  // Number of the piece that thread `thread` of all accesses moves.
  __device__ unsigned int number(unsigned int thread) const {
    if (sizeof(Piece) < sizeof(Bytes16)) return order.element(thread);
    const unsigned int element = order.element(thread >> sharing_bits);
    return (element << sharing_bits) | (thread & ((1u << sharing_bits) - 1));
  }
  __device__ Piece* at(unsigned int number) const { return reinterpret_cast<Piece*>(base) + number; }
};

__device__ inline unsigned int load_piece(const unsigned int* from) { return load_global(from); }
__device__ inline Word load_piece(const Word* from) { return load_global(from); }
__device__ inline Bytes16 load_piece(const Bytes16* from) { return load_streaming(from); }
__device__ inline void store_piece(unsigned int* to, unsigned int value) { store_global(to, value); }
__device__ inline void store_piece(Word* to, Word value) { store_global(to, value); }
__device__ inline void store_piece(Bytes16* to, Bytes16 value) { store_streaming(to, value); }

__device__ inline Bytes16 joined(Word low, Word high) {
  return {static_cast<unsigned int>(low), static_cast<unsigned int>(low >> 32),
          static_cast<unsigned int>(high), static_cast<unsigned int>(high >> 32)};
}
__device__ inline Word low_of(const Bytes16& pair) { return pair.x | Word{pair.y} << 32; }
__device__ inline Word high_of(const Bytes16& pair) { return pair.z | Word{pair.w} << 32; }

// What the piece of this number holds. `first` is the index of the first word of the slot.
__device__ inline void expect(Word key, Word first, unsigned int number, unsigned int& piece) {
  piece = half_word(pattern_word(key, first + number / 2), number & 1);
}
__device__ inline void expect(Word key, Word first, unsigned int number, Word& piece) {
  piece = pattern_word(key, first + number);
}
__device__ inline void expect(Word key, Word first, unsigned int number, Bytes16& piece) {
  piece =
      joined(pattern_word(key, first + 2 * Word{number}), pattern_word(key, first + 2 * Word{number} + 1));
}

__device__ inline Word count_right(unsigned int got, unsigned int expected) { return got == expected; }
__device__ inline Word count_right(Word got, Word expected) { return got == expected; }
__device__ inline Word count_right(const Bytes16& got, const Bytes16& expected) {
  return Word{low_of(got) == low_of(expected)} + Word{high_of(got) == high_of(expected)};
}

__device__ inline Word updated(Word piece) { return updated_word(piece); }
__device__ inline Bytes16 updated(const Bytes16& piece) {
  return joined(updated_word(low_of(piece)), updated_word(high_of(piece)));
}

// The pieces that a thread of `threads` moves at once, from its access `first` on, of `count` in all.
template <class Piece, unsigned int in_flight>
struct Turn {
  unsigned int numbers[in_flight];
  Word first, threads, count;

  __device__ Turn(const Pieces<Piece>& pieces, Word first_, Word threads_, Word count_)
      : first(first_), threads(threads_), count(count_) {
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k)
      numbers[k] = pieces.number(static_cast<unsigned int>(first + k * threads));
  }
  __device__ bool has(unsigned int k) const { return first + k * threads < count; }
};

// Calls the action for all turns of this thread. With one piece in flight the grid has a thread for each.
template <class Piece, unsigned int in_flight, class Action>
__device__ inline void take_turns(const RandomArguments& arguments, const Pieces<Piece>& pieces,
                                  const Action& action) {
  const Word count = arguments.bytes / sizeof(Piece);
  if (in_flight == 1) {
    const Turn<Piece, in_flight> turn(pieces, grid_thread(), 0, count);
    if (turn.has(0)) action(turn);
    return;
  }
  const Word threads = grid_threads();
#pragma unroll 1
  for (Word first = grid_thread(); first < count; first += in_flight * threads)
    action(Turn<Piece, in_flight>(pieces, first, threads, count));
}

template <class Piece, unsigned int in_flight>
__device__ inline void load_pieces(const RandomArguments& arguments) {
  const Pieces<Piece> pieces(arguments);
  Word right = 0;
  take_turns<Piece, in_flight>(arguments, pieces, [&](const Turn<Piece, in_flight>& turn) {
    Piece held[in_flight];
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k)
      if (turn.has(k)) held[k] = load_piece(pieces.at(turn.numbers[k]));
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k) {
      if (!turn.has(k)) break;
      Piece expected;
      expect(arguments.key, pieces.first_word, turn.numbers[k], expected);
      right += count_right(held[k], expected);
    }
  });
  right = sum_of_block(right);
  if (thread_index() == 0) atomic_add(arguments.right, right);
}

template <class Piece, unsigned int in_flight>
__device__ inline void store_pieces(const RandomArguments& arguments) {
  const Pieces<Piece> pieces(arguments);
  take_turns<Piece, in_flight>(arguments, pieces, [&](const Turn<Piece, in_flight>& turn) {
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k) {
      if (!turn.has(k)) break;
      Piece value;
      expect(arguments.key, pieces.first_word, turn.numbers[k], value);
      store_piece(pieces.at(turn.numbers[k]), value);
    }
  });
  if (in_flight > 1 && arguments.fence != 0) fence_system();
}

// No two threads update one element, so that loads and stores are enough.
template <class Piece, unsigned int in_flight>
__device__ inline void update_pieces(const RandomArguments& arguments) {
  const Pieces<Piece> pieces(arguments);
  take_turns<Piece, in_flight>(arguments, pieces, [&](const Turn<Piece, in_flight>& turn) {
    Piece held[in_flight];
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k)
      if (turn.has(k)) held[k] = load_piece(pieces.at(turn.numbers[k]));
#pragma unroll
    for (unsigned int k = 0; k < in_flight; ++k)
      if (turn.has(k)) store_piece(pieces.at(turn.numbers[k]), updated(held[k]));
  });
  if (in_flight > 1 && arguments.fence != 0) fence_system();
}

// One kernel for each size of a piece, and `…_several` for grids with fewer threads than pieces: a choice
// within the kernel would be made by every thread of a small operation.
BYTEWAYS_KERNEL(1024, 2) random_load_4(RandomArguments arguments) { load_pieces<unsigned int, 1>(arguments); }
BYTEWAYS_KERNEL(1024, 2) random_load_4_several(RandomArguments arguments) {
  load_pieces<unsigned int, kRandomInFlight>(arguments);
}
BYTEWAYS_KERNEL(1024, 2) random_load_8(RandomArguments arguments) { load_pieces<Word, 1>(arguments); }
BYTEWAYS_KERNEL(1024, 2) random_load_8_several(RandomArguments arguments) {
  load_pieces<Word, kRandomInFlight>(arguments);
}
BYTEWAYS_KERNEL(1024, 2) random_load_16(RandomArguments arguments) { load_pieces<Bytes16, 1>(arguments); }
BYTEWAYS_KERNEL(512, 3) random_load_16_several(RandomArguments arguments) {
  load_pieces<Bytes16, kRandomInFlight>(arguments);
}
BYTEWAYS_KERNEL(1024, 2) random_store_4(RandomArguments arguments) {
  store_pieces<unsigned int, 1>(arguments);
}
BYTEWAYS_KERNEL(1024, 2) random_store_4_several(RandomArguments arguments) {
  store_pieces<unsigned int, kRandomInFlight>(arguments);
}
BYTEWAYS_KERNEL(1024, 2) random_store_8(RandomArguments arguments) { store_pieces<Word, 1>(arguments); }
BYTEWAYS_KERNEL(1024, 2) random_store_8_several(RandomArguments arguments) {
  store_pieces<Word, kRandomInFlight>(arguments);
}
BYTEWAYS_KERNEL(1024, 2) random_store_16(RandomArguments arguments) { store_pieces<Bytes16, 1>(arguments); }
BYTEWAYS_KERNEL(512, 3) random_store_16_several(RandomArguments arguments) {
  store_pieces<Bytes16, kRandomInFlight>(arguments);
}
BYTEWAYS_KERNEL(1024, 2) random_update_8(RandomArguments arguments) { update_pieces<Word, 1>(arguments); }
BYTEWAYS_KERNEL(1024, 2) random_update_8_several(RandomArguments arguments) {
  update_pieces<Word, kRandomInFlight>(arguments);
}
BYTEWAYS_KERNEL(1024, 2) random_update_16(RandomArguments arguments) { update_pieces<Bytes16, 1>(arguments); }
BYTEWAYS_KERNEL(512, 3) random_update_16_several(RandomArguments arguments) {
  update_pieces<Bytes16, kRandomInFlight>(arguments);
}

}  // namespace byteways
