"""Blocks between scattered addresses, as a user writes them: `1024x16KiB`, or of several sizes. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from byteways.base.errors import BytewaysError
from byteways.base.units import format_size, parse_size
from byteways.cases.block_layout import BLOCK_WORD_BYTES

#: Most blocks of one copy: the vendors' batched calls count them in a size_t, and the list must fit memory.
MOST_LISTED_BLOCKS = 2**24
_WRITTEN = re.compile(r"\s*(\d+)\s*[x×*]\s*(.+?)\s*", re.IGNORECASE)
_REVERSED = re.compile(r"\s*(\S*[a-z]\S*?)\s*[x×*]\s*(\d+)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class BlockList:
    """`count` blocks of `block_bytes` bytes, each from its own address to its own address."""

    count: int
    block_bytes: int

    @property
    def size_bytes(self) -> int:
        """The bytes of all blocks."""
        return self.count * self.block_bytes

    @property
    def option(self) -> int:
        """The bytes of a block, as `block_bytes` takes it."""
        return self.block_bytes

    @property
    def written(self) -> str:
        """`1024x16KiB`, as the option takes it."""
        for unit, bytes_of_unit in (("MiB", 2**20), ("KiB", 2**10)):
            if self.block_bytes % bytes_of_unit == 0:
                return f"{self.count}x{self.block_bytes // bytes_of_unit}{unit}"
        return f"{self.count}x{self.block_bytes}"

    def __str__(self) -> str:
        return f"{self.count:,} blocks of {format_size(self.block_bytes)}"


@dataclass(frozen=True)
class MixedBlocks:
    """Blocks of several sizes, each from its own address to its own address."""

    sizes: tuple[tuple[int, int], ...]  # counts of blocks of a size in bytes, each size once
    file: str  # that lists them, as the user named it

    @property
    def count(self) -> int:
        return sum(count for count, _ in self.sizes)

    @property
    def size_bytes(self) -> int:
        """The bytes of all blocks."""
        return sum(count * size for count, size in self.sizes)

    @property
    def written(self) -> str:
        """The file, as the option takes it."""
        return self.file

    @property
    def option(self) -> str:
        """`48x16384,2x65536`, as `block_sizes` takes it."""
        return ",".join(f"{count}x{size}" for count, size in self.sizes)

    def __str__(self) -> str:
        sizes = [size for _, size in self.sizes]
        return (
            f"{self.count:,} blocks of {format_size(min(sizes))} to {format_size(max(sizes))} ({self.file})"
        )


def ranges(lists: Sequence[BlockList]) -> str:
    """`256 and 1,024 blocks of 16 KiB and 32 KiB`."""
    counts = sorted({one.count for one in lists})
    sizes = sorted({one.block_bytes for one in lists})
    return f"{' and '.join(f'{n:,}' for n in counts)} blocks of {' and '.join(map(format_size, sizes))}"


def block_list(text: str) -> BlockList:
    """Parses `1024x16KiB`.

    Raises:
        BytewaysError: It is not a number of blocks and their size, there are too many, or they are no words.
    """
    hint = "write number and size, or a file with a count and a size in each line: --blocks 1024x16KiB"
    match = _WRITTEN.fullmatch(text)
    if match is None or not int(match[1]):
        if swapped := _REVERSED.fullmatch(text):
            hint = f"the number of blocks is first: --blocks {swapped[2]}x{swapped[1]}"
        raise BytewaysError(f"'{text}' is not a list of blocks", hint=hint)
    try:
        found = BlockList(int(match[1]), parse_size(match[2]))
    except ValueError as error:
        raise BytewaysError(f"'{text}' is not a list of blocks", cause=str(error), hint=hint) from error
    if found.block_bytes % BLOCK_WORD_BYTES:
        reason = f"blocks of {found.block_bytes} bytes are not whole words of {BLOCK_WORD_BYTES} bytes"
        whole = -(-found.block_bytes // BLOCK_WORD_BYTES) * BLOCK_WORD_BYTES
        raise BytewaysError(
            reason, hint=f"ask for blocks of almost that size: --blocks {found.count}x{whole}"
        )
    if found.count > MOST_LISTED_BLOCKS:
        raise BytewaysError(
            f"'{text}' has more than {MOST_LISTED_BLOCKS:,} blocks", hint="ask for what one call moves"
        )
    return found
