// The kernels of the copy library: those of interface `kernel-blocks` for blocks that are aligned to 16
// bytes, by their names. scripts/write_copy_kernels.py compiles them into kernels.ptx, and hipRTC for AMD
// GPUs when a program needs them.
#include "interfaces/blocks/blocks.cuh"

namespace byteways {

extern __shared__ BlockPair pairs_of_tiles[];

BYTEWAYS_KERNEL(512, 3) copy_blocks(BlocksArguments arguments) {
  copy_covered<Bytes16, kTileAccesses>(arguments, arguments.list, pairs_of_tiles);
}

BYTEWAYS_KERNEL(512) copy_blocks_resident(BlocksArguments arguments) {
  copy_resident<Bytes16, kCopyInFlight>(arguments, pairs_of_tiles);
}

}  // namespace byteways
