"""Tables of `byteways show`, split into parts that fit the width; on a terminal with a rule below the
headings, elsewhere with spaces only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from byteways.console.wrapping import aligned, fitted, width_of

if TYPE_CHECKING:
    from rich.console import Console

#: Blanks between two columns.
COLUMN_SPACE = 2
#: Least width of a text column, if its text is that long.
LEAST_TEXT_COLUMN = 18


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
    if sum(needs[index] + COLUMN_SPACE for index in names) > width // 2:  # little room for values: wrap more
        for index in names:
            needs[index] = _need(index, headings, rows, False, 0)
    taken = sum(needs[index] + COLUMN_SPACE for index in names)
    found: list[list[int]] = [[*names]]
    used = taken
    for index in range(len(names), len(headings)):
        more = needs[index] + COLUMN_SPACE
        if used + more > width and len(found[-1]) > len(names):
            found.append([*names])
            used = taken
        found[-1].append(index)
        used += more
    return found


def _need(
    index: int,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    figure: bool,
    words: int = LEAST_TEXT_COLUMN,
) -> int:
    """Returns the least width of a column in characters: its longest word, or a whole value."""
    texts = {row[index] for row in rows}
    whole = max(map(width_of, texts), default=0)
    all_words = {word for text in (headings[index], *texts) for word in text.split()}
    word = max(map(width_of, all_words), default=0)
    return max(word, whole if figure else min(whole, words))


def print_table(
    console: Console,
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    figures: Collection[int] = (),
) -> None:
    """Prints a table under its title.

    Names from the machine are printed literally, never as markup.
    """
    chosen = parts(headings, rows, figures, console.width)
    for number, columns in enumerate(chosen, start=1):
        console.print()
        which = f" ({number} of {len(chosen)})" if len(chosen) > 1 else ""
        console.print(f"{title}{which}", style="bold")
        _print_part(console, headings, rows, figures, columns)


def _print_part(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    figures: Collection[int],
    columns: Sequence[int],
) -> None:
    room = console.width - COLUMN_SPACE * (len(columns) - 1)
    least = [_need(column, headings, rows, column in figures, 0) for column in columns]
    if sum(least) > room:  # words are cut, values never
        least = [need if column in figures else 1 for column, need in zip(columns, least, strict=True)]
    natural = [max(map(width_of, {row[column] for row in (headings, *rows)})) for column in columns]
    widths = fitted(natural, least, room)
    right = {place for place, column in enumerate(columns) if column in figures}
    heads = [headings[column] for column in columns]
    for line in aligned([heads], widths, right, COLUMN_SPACE):
        console.out(line, style="bold", highlight=False)
    if console.is_terminal:
        console.out((" " * COLUMN_SPACE).join("─" * width for width in widths), style="dim", highlight=False)
    body = [[row[column] for column in columns] for row in rows]
    if body:
        console.out("\n".join(aligned(body, widths, right, COLUMN_SPACE)), highlight=False)
