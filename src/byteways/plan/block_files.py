"""Files that list blocks of several sizes: a count and a size in bytes in each line."""

from __future__ import annotations

import re
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_TOML_BYTES, read_text
from byteways.base.system_errors import not_read
from byteways.base.units import parse_size
from byteways.cases.block_layout import BLOCK_WORD_BYTES, MOST_SIZES, lists_sizes
from byteways.cases.block_list import MOST_LISTED_BLOCKS, BlockList, MixedBlocks, block_list

_HINT = "write a count and a size in bytes in each line: 48 16384"
#: The key of a suite and its value: a text or a list of them, outside of comments.
_SIZES_KEY = re.compile(
    r"""^(?!\s*#)(.*?\bblock_sizes\s*=\s*)(\[[^]\n]*]|"[^"\n]*"|'[^'\n]*')""", re.MULTILINE
)
_TOML_TEXT = re.compile(r"""(["'])(.*?)\1""")


def named_blocks(text: str) -> BlockList | MixedBlocks:
    """Returns the blocks of `1024x16KiB`, or those that the file of this name lists.

    Raises:
        BytewaysError: As block_list() and listed_sizes().
    """
    if not Path(text).is_file():
        return block_list(text)
    sizes = listed_sizes(text)
    return MixedBlocks(sizes, text) if len(sizes) > 1 else BlockList(*sizes[0])


def listed_sizes(file: str) -> tuple[tuple[int, int], ...]:
    """Returns counts and sizes that a file lists: in each line a count and a size in bytes, `48 16384`.

    Empty lines and those that begin with # are left out. Lines of equal sizes are added.

    Raises:
        BytewaysError: The file cannot be read, or a line is no count and size of blocks.
    """
    try:
        lines = read_text(Path(file), MOST_TOML_BYTES).splitlines()
    except (OSError, ValueError) as error:
        raise not_read(f"cannot read the blocks in '{file}'", error, _HINT) from error
    counts: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            count, size = _counted(line, f"{file}:{number}")
            counts[size] = counts.get(size, 0) + count
    if not counts:
        raise BytewaysError(f"{file} lists no blocks", hint=_HINT)
    if len(counts) > MOST_SIZES:
        raise BytewaysError(
            f"{file} has {len(counts)} sizes of blocks, more than {MOST_SIZES}",
            hint="round sizes up to fewer ones, such as the next power of two",
        )
    if sum(counts.values()) > MOST_LISTED_BLOCKS:
        hint = "list what one call moves"
        raise BytewaysError(f"{file} has more than {MOST_LISTED_BLOCKS:,} blocks", hint=hint)
    return tuple((count, size) for size, count in counts.items())


def _counted(line: str, where: str) -> tuple[int, int]:
    """Returns count and size of a line. Raises BytewaysError if it has something else."""
    words = line.split()
    if len(words) != 2 or not (words[0].isascii() and words[0].isdecimal()) or int(words[0]) == 0:
        raise BytewaysError(f"{where}: '{line.strip()}' is no count and size of blocks", hint=_HINT)
    try:
        size = parse_size(words[1])
    except ValueError as error:
        raise BytewaysError(f"{where}: '{words[1]}' is no size", cause=str(error), hint=_HINT) from error
    if size <= 0 or size % BLOCK_WORD_BYTES:
        whole = max(1, -(-size // BLOCK_WORD_BYTES)) * BLOCK_WORD_BYTES
        raise BytewaysError(
            f"{where}: blocks of {size} bytes are not whole words of {BLOCK_WORD_BYTES} bytes",
            hint=f"round up: {words[0]} {whole}",
        )
    return int(words[0]), size


def with_listed_sizes(text: str, folder: Path) -> str:
    """Returns the text of a suite with what each file lists that `block_sizes` names.

    So the suite that a run keeps needs no other file.

    Args:
        text: The suite as TOML.
        folder: Of the suite; files are named relative to it.

    Raises:
        BytewaysError: As listed_sizes(). A file that does not exist stays as it is written.
    """

    def listed(match: re.Match[str]) -> str:
        path = folder / match[2]
        if lists_sizes(match[2]) or not path.is_file():
            return match[0]
        return f'"{MixedBlocks(listed_sizes(str(path)), match[2]).option}"'

    return _SIZES_KEY.sub(lambda match: match[1] + _TOML_TEXT.sub(listed, match[2]), text)
