// Interface `kernel-blocks`: scattered blocks by loads and stores; and the check of blocks and of the words
// between them.
#include "interfaces/blocks/blocks.cuh"
#include "interfaces/device/finding.cuh"

namespace byteways {

extern __shared__ BlockPair pairs_of_tiles[];

// A thread moves 4 accesses of the widest kind that the blocks allow: on H100 the fastest grid over PCIe,
// between GPUs and within one (docs/reference/peers.md).
BYTEWAYS_KERNEL(512, 3) copy_blocks(BlocksArguments arguments) {
  switch (arguments.access_bytes) {
    case sizeof(Bytes16):
      return copy_covered<Bytes16, kTileAccesses>(arguments, arguments.list, pairs_of_tiles);
    case sizeof(Word):
      return copy_covered<Word, kTileAccesses>(arguments, arguments.list, pairs_of_tiles);
    case sizeof(unsigned int):
      return copy_covered<unsigned int, kTileAccesses>(arguments, arguments.list, pairs_of_tiles);
    default:
      return copy_covered<unsigned char, kTileAccesses>(arguments, arguments.list, pairs_of_tiles);
  }
}

BYTEWAYS_KERNEL(512) copy_blocks_resident(BlocksArguments arguments) {
  switch (arguments.access_bytes) {
    case sizeof(Bytes16):
      copy_resident<Bytes16, kCopyInFlight>(arguments, pairs_of_tiles);
      break;
    case sizeof(Word):
      copy_resident<Word, kCopyInFlight>(arguments, pairs_of_tiles);
      break;
    case sizeof(unsigned int):
      copy_resident<unsigned int, kCopyInFlight>(arguments, pairs_of_tiles);
      break;
    default:
      copy_resident<unsigned char, kCopyInFlight>(arguments, pairs_of_tiles);
  }
  if (arguments.fence != 0) fence_system();
}

__device__ inline Word expected_at(const CheckBlocksArguments& arguments, Word i) {
  const Word at = arguments.first + i, slot = at / arguments.slot_words;
  const Word within = at - slot * arguments.slot_words;
  const BlockPlace place = arguments.map[place_before(arguments.map, arguments.blocks, within)];
  const Word column = within - place.destination;  // of a word before the first block: a huge one
  if (column >= place.words) return arguments.gap;
  return pattern_word(arguments.key, slot * arguments.slot_words + place.source + column);
}

BYTEWAYS_KERNEL(512) check_blocks(CheckBlocksArguments arguments) { check_words(arguments); }

}  // namespace byteways
