"""A Triton kernel that copies blocks between scattered addresses, as inference engines have one.

Its programs take blocks in turn, so that few of them leave most of the GPU to others. Addresses and sizes are
multiples of 16 bytes. Needs PyTorch and Triton.
"""

from __future__ import annotations

import triton
import triton.language as tl

#: Words of 8 bytes that a program has in flight: 12 programs have 192 KiB, more than PCIe 5 needs.
PIECE_WORDS = 2048
WARPS = 16


@triton.jit
def copy_blocks_kernel(sources, destinations, blocks, block_words, PIECE: tl.constexpr):  # noqa: N803
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        source = tl.multiple_of(tl.load(sources + block).to(tl.pointer_type(tl.int64)), 16)
        destination = tl.multiple_of(tl.load(destinations + block).to(tl.pointer_type(tl.int64)), 16)
        for start in range(0, block_words, PIECE):
            words = start + tl.arange(0, PIECE)
            inside = words < block_words
            tl.store(destination + words, tl.load(source + words, mask=inside), mask=inside)


def copy_blocks(sources, destinations, block_bytes: int, programs: int) -> None:
    """Enqueues the kernel in PyTorch's current stream.

    Args:
        sources: Addresses, int64 in the GPU's memory.
        destinations: The same.
        block_bytes: Size of each block.
        programs: How many programs take them.
    """
    blocks = sources.numel()
    copy_blocks_kernel[(min(programs, blocks),)](
        sources, destinations, blocks, block_bytes // 8, PIECE=PIECE_WORDS, num_warps=WARPS
    )
