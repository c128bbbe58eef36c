// Interface `direct`, protocol LL: each rank stores its words into the workspaces of all others, with flags
// beside them, and takes theirs from its own. No barrier is needed, before or after. Who may store where, and
// when, is in arguments.hpp.
#include "interfaces/direct/signals.cuh"

namespace byteways {

// Words of 8 bytes; a message of 4 bytes is the low half of one.
__device__ inline Word load_word(const char* from, Word index, Word bytes) {
  if ((index + 1) * 8 <= bytes) return load_global(reinterpret_cast<const Word*>(from) + index);
  return load_global(reinterpret_cast<const unsigned int*>(from) + 2 * index);
}
__device__ inline void store_word(char* to, Word index, Word bytes, Word value) {
  if ((index + 1) * 8 <= bytes)
    store_global(reinterpret_cast<Word*>(to) + index, value);
  else
    store_global(reinterpret_cast<unsigned int*>(to) + 2 * index, static_cast<unsigned int>(value));
}

// Where words from `sender` arrive at `receiver` in this epoch, for this block.
__device__ inline Bytes16* mailbox(const DirectArguments& a, unsigned int receiver, unsigned int sender,
                                   Word epoch) {
  auto* behind = reinterpret_cast<Bytes16*>(a.workspaces[receiver] + 1);
  return behind +
         (((epoch & 1) * a.ranks + sender) * kFlaggedMostBlocks + block_index()) * kFlaggedBlockWords;
}

__device__ inline Word await_word(const DirectArguments& a, Word epoch, const Bytes16* from,
                                  unsigned int sender) {
  const auto flag = static_cast<unsigned int>(epoch);
  Bytes16 got = load_flagged(from);
  Word since = 0;
  for (unsigned int look = 1; got.y != flag || got.w != flag; ++look) {
    if (!waits_on(a, epoch, sender, kDirectStages, look, since)) break;
    got = load_flagged(from);
  }
  return got.x | Word{got.z} << 32;
}

__device__ inline unsigned int after(const DirectArguments& a, unsigned int steps) {
  const unsigned int rank = a.rank + steps;
  return rank < a.ranks ? rank : rank - a.ranks;
}

BYTEWAYS_KERNEL(512) direct_flagged(DirectArguments a) {
  Word epoch = first_epoch(a);
  const Word all = (a.bytes + 7) / 8;
  const Word first = Word{block_index()} * a.block_words;
  // The last piece of a message is shorter than the others, and has the same grid: blocks are left over.
  const Word left = first < all ? all - first : 0;
  const Word words = left < a.block_words ? left : a.block_words;
  for (Word k = a.first_operation; k < a.first_operation + a.operations; ++k, ++epoch) {
    const char* source = a.sources[a.rank] + slot_of(a, k);
    char* destination = a.destinations[a.rank] + slot_of(a, k);
    for (Word i = thread_index(); i < words; i += block_threads())
      for (unsigned int step = 1; step < a.ranks; ++step) {
        const unsigned int other = after(a, step);
        const Word word = load_word(source + other * a.source_stride, first + i, a.bytes);
        store_flagged(mailbox(a, other, a.rank, epoch) + i, word, static_cast<unsigned int>(epoch));
      }
    for (Word i = thread_index(); i < words; i += block_threads()) {
      Word value = load_word(source + a.rank * a.source_stride, first + i, a.bytes);
      if (a.adds == 0) store_word(destination + a.rank * a.destination_stride, first + i, a.bytes, value);
#pragma unroll 1
      for (unsigned int step = 1; step < a.ranks; ++step) {
        const unsigned int other = after(a, step);
        const Word word = await_word(a, epoch, mailbox(a, a.rank, other, epoch) + i, other);
        if (a.adds == 0)
          store_word(destination + other * a.destination_stride, first + i, a.bytes, word);
        else
          value += word;
      }
      if (a.adds != 0) store_word(destination, first + i, a.bytes, value);
    }
  }
  end_block(a, epoch);
}

}  // namespace byteways
