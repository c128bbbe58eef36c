"""Scattered blocks, as moved by `copy-blocks`, `kernel-blocks` and their kin: how many, and where. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byteways.base.units import format_size, parse_size
from byteways.cases.interfaces import INTERFACES
from byteways.cases.options import BLOCK_BYTES, LAYOUT, SCATTERED
from byteways.cases.pitched_rows import LINE_BYTES

#: Verification checks words, so blocks begin and end on words.
BLOCK_WORD_BYTES = 8
#: Places of a random layout per block, the same as in native/interfaces/blocks/layout.cpp.
PLACES_PER_BLOCK = 2
#: Most blocks of one operation: the lists of more would take longer to write than any queue waits.
MOST_BLOCKS_MOVED = 2**20


#: What to write for blocks of different sizes.
SIZES_HINT = 'write for example block_sizes = "48x16KiB,2x64KiB"'
#: Most sizes of an operation: a kernel is launched for each.
MOST_SIZES = 64


@dataclass(frozen=True)
class BlockLayout:
    """`layout` says where the blocks of the scattered sides are: at a random choice of places, in random
    order, or a pitch apart. The blocks of the other side are contiguous.
    """

    sizes: tuple[tuple[int, int], ...]  # counts of blocks of a size in bytes, repeated up to the size
    layout: str
    pitch_bytes: int  # of a strided layout
    scattered: str  # the sides: `both`, `source`, `destination`
    size_bytes: int  # of all blocks
    mixed: bool = False  # whether the sizes were listed

    @property
    def unit_bytes(self) -> int:
        """Bytes of the sizes once."""
        return sum(count * size for count, size in self.sizes)

    @property
    def count(self) -> int:
        return self.size_bytes // self.unit_bytes * sum(count for count, _ in self.sizes)

    @property
    def counts(self) -> dict[int, int]:
        """The number of blocks of each size in bytes."""
        found: dict[int, int] = {}
        for count, size in self.sizes:
            found[size] = found.get(size, 0) + self.size_bytes // self.unit_bytes * count
        return found

    @property
    def block_bytes(self) -> int:
        """Of the largest block."""
        return max(size for _, size in self.sizes)

    @property
    def span_bytes(self) -> int:
        """Bytes from the first place to the end of the last one, on a scattered side."""
        return (
            PLACES_PER_BLOCK * self.size_bytes if self.layout == "random" else self.count * self.pitch_bytes
        )

    @property
    def lines_bytes(self) -> int:
        """Bytes of the cache lines that the blocks touch."""
        lines = sum(count * (-(-size // LINE_BYTES) * LINE_BYTES) for count, size in self.sizes)
        return min(self.size_bytes // self.unit_bytes * lines, self.span_bytes)

    @property
    def options(self) -> dict[str, int | str]:
        """The options that the native core needs, without defaults."""
        listed = ",".join(f"{count}x{size}" for count, size in self.sizes)
        return {
            **({"block_sizes": listed} if self.mixed else {"block_bytes": self.block_bytes}),
            "layout": self.layout,
            "pitch_bytes": self.pitch_bytes,
            "scattered": self.scattered,
        }

    def wrong(self) -> tuple[str, str, str] | None:
        """Returns why such blocks are impossible: (key at fault, reason, valid value); None if possible."""
        pitch, largest = self.pitch_bytes, self.block_bytes
        key = "block_sizes" if self.mixed else "block_bytes"
        for _, block in self.sizes:
            if block <= 0 or block % BLOCK_WORD_BYTES:
                reason = f"blocks are multiples of {BLOCK_WORD_BYTES} bytes, and {block} is not"
                return key, reason, f"for example {BLOCK_BYTES.usual}"
        if len(self.sizes) > MOST_SIZES:
            return key, f"blocks have at most {MOST_SIZES} sizes, not {len(self.sizes)}", "fewer sizes"
        if pitch % BLOCK_WORD_BYTES:
            reason = f"pitch_bytes is a multiple of {BLOCK_WORD_BYTES} bytes, and {pitch} is not"
            return "pitch_bytes", reason, f"for example {2 * largest}"
        if pitch < largest:
            reason = f"blocks of {largest} bytes overlap at a pitch of {pitch}"
            return "pitch_bytes", reason, f"at least {largest}"
        if self.size_bytes % self.unit_bytes:
            what = "what the blocks of block_sizes have together" if self.mixed else "the block size"
            reason = f"{format_size(self.size_bytes)} is not a multiple of {what}, {self.unit_bytes} bytes"
            return "size", reason, f"a multiple of {self.unit_bytes}"
        if self.count > MOST_BLOCKS_MOVED:
            reason = f"an operation moves at most {MOST_BLOCKS_MOVED} blocks, not {self.count}"
            return "size", reason, "a smaller size, or larger blocks"
        return None


def moves_blocks(interface: str) -> bool:
    return "block_bytes" in INTERFACES[interface].takes


def counted_sizes(text: str) -> tuple[tuple[int, int], ...]:
    """Parses `48x16KiB,2x64KiB`: counts of blocks, each with their size in bytes.

    Raises:
        ValueError: It is no such list.
    """
    sizes = []
    for part in text.split(","):
        count, times, size = part.strip().partition("x")
        if not times or not count.isdecimal() or int(count) == 0:
            raise ValueError(f"'{part.strip()}' is no count and size of blocks")
        sizes.append((int(count), parse_size(size)))
    return tuple(sizes)


def lists_sizes(text: str) -> bool:
    """Whether counted_sizes() parses it."""
    try:
        return bool(counted_sizes(text))
    except ValueError:
        return False


def blocks_of_options(options: Mapping[str, int | str | bool], size_bytes: int) -> BlockLayout:
    """Returns the blocks that the options give for `size_bytes`: every second place where nothing else is
    asked for.
    """
    listed = str(options.get("block_sizes", ""))
    sizes = counted_sizes(listed) if listed else ((1, int(options.get("block_bytes", BLOCK_BYTES.usual))),)
    return BlockLayout(
        sizes,
        str(options.get("layout", LAYOUT.default)),
        int(options.get("pitch_bytes", 2 * max(size for _, size in sizes))),
        str(options.get("scattered", SCATTERED.default)),
        size_bytes,
        bool(listed),
    )
