"""Aligns and wraps text in fixed-width columns, by the width that a terminal gives each character.

Rich does the same with a segment per cell and line, which takes seconds for the thousands of rows of a
`full` run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

#: A word with the blanks after it: two blanks inside a text separate values.
_WORD = re.compile(r"\S+\s*")
#: The same, with a number and its unit, and a sign and what it is of, as one word.
_QUANTITY = re.compile(r"\S*\d (?:%|×|[KMGT]iB|B|[KMG]?B/s|[nµm]?s)(?![\w/])\S*\s*|≈ \S+\s*|\S+\s*")


def width_of(text: str) -> int:
    """Returns the number of terminal columns that a text takes: two for an East Asian wide character."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Splits a text into lines of at most `width` columns, between words and within longer ones.

    A number keeps its unit.
    """
    if width_of(text) <= width and "\n" not in text and "\t" not in text:
        return [text]
    lines = [""]
    for found in _words(text.expandtabs(1), width):
        word = found.rstrip()
        blanks = found[len(word) :].replace("\n", " ")
        if lines[-1] and width_of(lines[-1]) + width_of(word) > width:
            lines.append("")
        *whole, rest = _folded(word, width)
        if whole:
            lines[-1:] = [*filter(None, lines[-1:]), *whole, ""]
        lines[-1] += rest + blanks
    return [line.rstrip() for line in lines]


def _fits(text: str, width: int) -> bool:
    """Whether a text takes one line, and one column a character."""
    return len(text) <= width and text.isascii() and text.isprintable()


def _words(text: str, width: int) -> Iterator[str]:
    """Yields words with the blanks after them; a number with its unit is one where that has room."""
    for found in _QUANTITY.finditer(text):
        if width_of(found[0].rstrip()) <= width:
            yield found[0]
        else:
            yield from _WORD.findall(found[0])


def _folded(word: str, width: int) -> list[str]:
    if width_of(word) <= width:
        return [word]
    from rich.cells import chop_cells

    return chop_cells(word, width)


def aligned(
    rows: Sequence[Sequence[str]], widths: Sequence[int], right: Collection[int], between: int
) -> Iterator[str]:
    """Yields the lines of a table, without blanks at their ends.

    Args:
        rows: Cell texts, one per column.
        widths: Of each column; longer texts are wrapped.
        right: Columns that are aligned to the right.
        between: Blanks between two columns.
    """
    gap = " " * between
    pads = [str.rjust if column in right else str.ljust for column in range(len(widths))]
    for row in rows:
        if all(map(_fits, row, widths)):
            padded = [pad(text, width) for pad, text, width in zip(pads, row, widths, strict=True)]
            yield gap.join(padded).rstrip()
            continue
        cells = [wrapped(text, width) for text, width in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            padded = []
            for column, text in enumerate(line):
                blanks = " " * (widths[column] - width_of(text))
                padded.append(blanks + text if column in right else text + blanks)
            yield gap.join(padded).rstrip()


def fitted(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Returns column widths that fill at most `room` where possible: the widest columns give way first.

    Args:
        natural: Widths without wrapping.
        least: Widths that a column keeps, whatever the room.
        room: Sum of the widths.
    """
    widths = [*natural]
    while sum(widths) > room:
        able = [column for column, width in enumerate(widths) if width > least[column]]
        if not able:
            break
        widths[max(able, key=lambda column: widths[column])] -= 1
    return widths
