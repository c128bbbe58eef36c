"""Tables of `byteways show`, split into parts that fit the width; on a terminal with rules, elsewhere with
spaces only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

#: Characters between two columns of a terminal's table.
BETWEEN = 3
#: Least width of a text column, if its text is that long.
WORDS = 18


def parts(
    headings: Sequence[str], rows: Sequence[Sequence[str]], figures: Collection[int], width: int
) -> list[list[int]]:
    """Splits a table wider than the terminal; returns the columns of each part.

    Args:
        headings: Column headings.
        rows: Cell texts, one per heading.
        figures: Columns that are never wrapped. The columns before the first of them name the row and are
            repeated in every part.
        width: Terminal width in characters.
    """
    needs = [_need(index, headings, rows, index in figures) for index in range(len(headings))]
    first = min(figures, default=len(headings))
    names = list(range(min(max(first, 1), len(headings))))
    if sum(needs[index] + BETWEEN for index in names) > width // 2:  # little room for values: wrap more
        for index in names:
            needs[index] = _need(index, headings, rows, False, 0)
    taken = sum(needs[index] + BETWEEN for index in names)
    found: list[list[int]] = [[*names]]
    used = taken
    for index in range(len(names), len(headings)):
        more = needs[index] + BETWEEN
        if used + more > width and len(found[-1]) > len(names):
            found.append([*names])
            used = taken
        found[-1].append(index)
        used += more
    return found


def _need(
    index: int, headings: Sequence[str], rows: Sequence[Sequence[str]], figure: bool, words: int = WORDS
) -> int:
    """Returns the least width of a column in characters: its longest word, or a whole value."""
    texts = [row[index] for row in rows]
    whole = max((len(text) for text in texts), default=0)
    word = max(len(word) for text in (headings[index], *texts) for word in text.split() or [""])
    return max(word, whole if figure else min(whole, words))


def print_table(
    console: Console,
    mark: str,
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    figures: Collection[int] = (),
) -> None:
    """Prints a table under its title, with `mark` above each part.

    Names from the machine are printed literally, never as markup.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    chosen = parts(headings, rows, figures, console.width)
    for number, columns in enumerate(chosen, start=1):
        least = [_need(index, headings, rows, index in figures, 0) for index in columns]
        fits = sum(least) + BETWEEN * len(least) <= console.width
        console.print()
        if mark:
            console.print(mark, style="bold red", soft_wrap=True)
        which = f" ({number} of {len(chosen)})" if len(chosen) > 1 else ""
        console.print(f"{title}{which}", style="bold")
        table = Table(
            box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False, header_style="bold"
        )
        for index, characters in zip(columns, least, strict=True):
            table.add_column(
                Text(headings[index]),
                justify="right" if index in figures else "left",
                overflow="fold",
                min_width=characters if fits or index in figures else None,
            )
        for row in rows:
            table.add_row(*(Text(row[index]) for index in columns))
        console.print(table)
