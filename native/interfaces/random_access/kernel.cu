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
      : sharing_bits(0), order(arguments.first_operation, arguments.access_bits) {
    base = static_cast<char*>(arguments.data) + arguments.slot * arguments.stride;
    first_word = arguments.slot * arguments.stride / sizeof(Word);
    while ((sizeof(Piece) << sharing_bits) < arguments.access_bytes) ++sharing_bits;
  }
  // Number of the piece that thread `thread` of all accesses moves.
  __device__ Word number(Word thread) const {
    const Word element = order.element(static_cast<unsigned int>(thread >> sharing_bits));
    return (element << sharing_bits) | (thread & ((Word{1} << sharing_bits) - 1));
  }
  __device__ Piece* at(Word number) const { return reinterpret_cast<Piece*>(base) + number; }
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
__device__ inline void expect(Word key, Word first, Word number, unsigned int& piece) {
  piece = half_word(pattern_word(key, first + number / 2), number & 1);
}
__device__ inline void expect(Word key, Word first, Word number, Word& piece) {
  piece = pattern_word(key, first + number);
}
__device__ inline void expect(Word key, Word first, Word number, Bytes16& piece) {
  piece = joined(pattern_word(key, first + 2 * number), pattern_word(key, first + 2 * number + 1));
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

template <class Piece>
__device__ Word load_pieces(const RandomArguments& arguments) {
  const Pieces<Piece> pieces(arguments);
  const Word count = arguments.bytes / sizeof(Piece), threads = grid_threads();
  const Word pass = threads * kRandomInFlight, whole = count / pass * pass;
  Word right = 0;
  const auto check = [&](Word number, const Piece& got) {
    Piece expected;
    expect(arguments.key, pieces.first_word, number, expected);
    right += count_right(got, expected);
  };
  for (Word first = grid_thread(); first < whole; first += pass) {
    Piece held[kRandomInFlight];
#pragma unroll
    for (unsigned int k = 0; k < kRandomInFlight; ++k)
      held[k] = load_piece(pieces.at(pieces.number(first + k * threads)));
#pragma unroll
    for (unsigned int k = 0; k < kRandomInFlight; ++k) check(pieces.number(first + k * threads), held[k]);
  }
  for (Word i = whole + grid_thread(); i < count; i += threads)
    check(pieces.number(i), load_piece(pieces.at(pieces.number(i))));
  return right;
}

template <class Piece>
__device__ void store_pieces(const RandomArguments& arguments) {
  const Pieces<Piece> pieces(arguments);
  const Word count = arguments.bytes / sizeof(Piece), threads = grid_threads();
#pragma unroll 4
  for (Word i = grid_thread(); i < count; i += threads) {
    const Word number = pieces.number(i);
    Piece value;
    expect(arguments.key, pieces.first_word, number, value);
    store_piece(pieces.at(number), value);
  }
}

// No two threads update one element, so that loads and stores are enough.
template <class Piece>
__device__ void update_pieces(const RandomArguments& arguments) {
  const Pieces<Piece> pieces(arguments);
  const Word count = arguments.bytes / sizeof(Piece), threads = grid_threads();
  const Word pass = threads * kRandomInFlight, whole = count / pass * pass;
  for (Word first = grid_thread(); first < whole; first += pass) {
    Piece held[kRandomInFlight];
    Piece* at[kRandomInFlight];
#pragma unroll
    for (unsigned int k = 0; k < kRandomInFlight; ++k) {
      at[k] = pieces.at(pieces.number(first + k * threads));
      held[k] = load_piece(at[k]);
    }
#pragma unroll
    for (unsigned int k = 0; k < kRandomInFlight; ++k) store_piece(at[k], updated(held[k]));
  }
  for (Word i = whole + grid_thread(); i < count; i += threads) {
    Piece* at = pieces.at(pieces.number(i));
    store_piece(at, updated(load_piece(at)));
  }
}

BYTEWAYS_KERNEL(512, 3) random_load(RandomArguments arguments) {
  Word right = 0;
  if (arguments.access_bytes < sizeof(Word))
    right = load_pieces<unsigned int>(arguments);
  else if (arguments.access_bytes < sizeof(Bytes16))
    right = load_pieces<Word>(arguments);
  else
    right = load_pieces<Bytes16>(arguments);
  right = sum_of_block(right);
  if (thread_index() == 0) atomic_add(arguments.right, right);
}

BYTEWAYS_KERNEL(1024, 2) random_store(RandomArguments arguments) {
  if (arguments.access_bytes < sizeof(Word))
    store_pieces<unsigned int>(arguments);
  else if (arguments.access_bytes < sizeof(Bytes16))
    store_pieces<Word>(arguments);
  else
    store_pieces<Bytes16>(arguments);
  if (arguments.fence != 0) fence_system();
}

BYTEWAYS_KERNEL(512, 3) random_update(RandomArguments arguments) {
  if (arguments.access_bytes < sizeof(Bytes16))
    update_pieces<Word>(arguments);
  else
    update_pieces<Bytes16>(arguments);
  if (arguments.fence != 0) fence_system();
}

}  // namespace byteways
