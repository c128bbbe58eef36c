"""Scattered blocks, as moved by `copy-blocks`, `kernel-blocks` and their kin: how many, and where. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byteways.plan.interfaces import INTERFACES
from byteways.plan.options import BLOCK_BYTES, LAYOUT, SCATTERED
from byteways.plan.pitched_rows import LINE_BYTES
from byteways.units import format_size

#: Verification checks words, so blocks begin and end on words.
BLOCK_WORD_BYTES = 8
#: Places of a random layout per block, the same as in native/interfaces/blocks/layout.cpp.
PLACES_PER_BLOCK = 2
#: Most blocks of one operation: the lists of more would take longer to write than any queue waits.
MOST_BLOCKS_MOVED = 2**20


@dataclass(frozen=True)
class BlockLayout:
    """`layout` says where the blocks of the scattered sides are: at a random choice of places, in random
    order, or a pitch apart. The blocks of the other side are contiguous.
    """

    block_bytes: int
    layout: str
    pitch_bytes: int  # of a strided layout
    scattered: str  # the sides: `both`, `source`, `destination`
    size_bytes: int  # of all blocks

    @property
    def count(self) -> int:
        return self.size_bytes // self.block_bytes

    @property
    def span_bytes(self) -> int:
        """Bytes from the first place to the end of the last one, on a scattered side."""
        if self.layout == "random":
            return self.count * PLACES_PER_BLOCK * self.block_bytes
        return self.count * self.pitch_bytes

    @property
    def lines_bytes(self) -> int:
        """Bytes of the cache lines that the blocks touch."""
        lines = -(-self.block_bytes // LINE_BYTES) * LINE_BYTES
        return self.count * min(lines, self.span_bytes // self.count)

    @property
    def options(self) -> dict[str, int | str]:
        """The options that the native core needs, without defaults."""
        return {
            "block_bytes": self.block_bytes,
            "layout": self.layout,
            "pitch_bytes": self.pitch_bytes,
            "scattered": self.scattered,
        }

    def wrong(self) -> tuple[str, str, str] | None:
        """Returns why such blocks are impossible: (key at fault, reason, valid value); None if possible."""
        block, pitch = self.block_bytes, self.pitch_bytes
        if block <= 0 or block % BLOCK_WORD_BYTES:
            reason = f"blocks are multiples of {BLOCK_WORD_BYTES} bytes, and {block} is not"
            return "block_bytes", reason, f"for example {BLOCK_BYTES.usual}"
        if pitch % BLOCK_WORD_BYTES:
            reason = f"pitch_bytes is a multiple of {BLOCK_WORD_BYTES} bytes, and {pitch} is not"
            return "pitch_bytes", reason, f"for example {2 * block}"
        if pitch < block:
            reason = f"blocks of {block} bytes overlap at a pitch of {pitch}"
            return "pitch_bytes", reason, f"at least {block}"
        if self.size_bytes % block:
            reason = f"{format_size(self.size_bytes)} is not a multiple of the block size, {block} bytes"
            return "size", reason, f"a multiple of {block}"
        if self.count > MOST_BLOCKS_MOVED:
            reason = f"an operation moves at most {MOST_BLOCKS_MOVED} blocks, not {self.count}"
            return "size", reason, f"at most {format_size(MOST_BLOCKS_MOVED * block)}, or larger blocks"
        return None


def moves_blocks(interface: str) -> bool:
    return "block_bytes" in INTERFACES[interface].takes


def blocks_of_options(options: Mapping[str, int | str | bool], size_bytes: int) -> BlockLayout:
    """Returns the blocks that the options give for `size_bytes`: every second place where nothing else is
    asked for.
    """
    block = int(options.get("block_bytes", BLOCK_BYTES.usual))
    return BlockLayout(
        block,
        str(options.get("layout", LAYOUT.default)),
        int(options.get("pitch_bytes", 2 * block)),
        str(options.get("scattered", SCATTERED.default)),
        size_bytes,
    )
