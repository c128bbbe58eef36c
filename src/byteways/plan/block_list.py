"""N blocks of S bytes between scattered addresses, as a user writes them: `1024x16KiB`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from byteways.aliases import typed_size
from byteways.errors import BytewaysError
from byteways.units import format_size, parse_size

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
    def written(self) -> str:
        """`1024x16KiB`, as the option takes it."""
        exact = format_size(self.block_bytes).replace(" ", "")
        return f"{self.count}x{exact if parse_size(exact) == self.block_bytes else self.block_bytes}"

    def __str__(self) -> str:
        return f"{self.count:,} blocks of {format_size(self.block_bytes)}"


def block_list(text: str) -> BlockList:
    """Parses `1024x16KiB`.

    Raises:
        BytewaysError: It is not a number of blocks and their size, or there are too many.
    """
    hint = "blocks are written as number and size: --blocks 1024x16KiB"
    match = _WRITTEN.fullmatch(text)
    if match is None or not int(match[1]):
        if swapped := _REVERSED.fullmatch(text):
            hint = f"the number of blocks is first: --blocks {swapped[2]}x{swapped[1]}"
        raise BytewaysError(f"'{text}' is not a list of blocks", hint=hint)
    try:
        found = BlockList(int(match[1]), typed_size(match[2]))
    except ValueError as error:
        raise BytewaysError(f"'{text}' is not a list of blocks", cause=str(error), hint=hint) from error
    if found.count > MOST_LISTED_BLOCKS:
        raise BytewaysError(
            f"'{text}' has more than {MOST_LISTED_BLOCKS:,} blocks", hint="ask for what one call moves"
        )
    return found
