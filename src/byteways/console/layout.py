"""Tables and lists for the terminal: wrapped at its width, or one line per row in a pipe.

Sentences are wrapped in a pipe, too, since a row of them may have thousands of characters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from byteways.console.terminal import console as terminal_console
from byteways.console.terminal import echo
from byteways.console.wrapping import aligned, fitted, width_of, wrapped
from byteways.questions.display.table import Table

if TYPE_CHECKING:
    from rich.console import Console


#: Lines after which the mark of a simulated run is out of sight, and is printed again.
SCREEN_LINES = 60
#: A longer word is a path or a list without blanks, and may be cut.
LONGEST_WORD = 24
#: Blanks between two columns of a terminal.
GAP_OF_COLUMNS = 2
#: Width of sentences in a pipe.
PIPED_WIDTH = 120
#: Terminal width from which long-text columns are side by side.
SIDE_BY_SIDE_FROM = 140


@dataclass(frozen=True)
class Lines:
    """Lines under a title, printed as they are; sentences are wrapped."""

    title: str
    lines: tuple[str, ...]
    sentences: bool = False


@dataclass
class Notes:
    """Numbered notes that tables refer to; each once, in order of appearance."""

    texts: dict[str, int] = field(default_factory=dict)

    def mark(self, text: str) -> str:
        """Returns `[1]`, the number of the note."""
        return f"[{self.texts.setdefault(text, len(self.texts) + 1)}]"

    def blocks(self, title: str) -> tuple[Lines, ...]:
        """Returns the numbered notes; empty without any."""
        lines = tuple(f"[{number}] {text}" for text, number in self.texts.items())
        return (Lines(title, lines),) if lines else ()


def numeric(headings: Sequence[str], names: Collection[str]) -> tuple[int, ...]:
    """Returns the places of the columns of numbers, by their headings."""
    return tuple(at for at, name in enumerate(headings) if name in names)


def plain(block: Table | Lines) -> list[str]:
    """Returns a block as lines without colour: title, then the content indented by two."""
    if isinstance(block, Lines):
        lines = [
            row for line in block.lines for row in (_piped(line, 2) if block.sentences else [f"  {line}"])
        ]
        return [block.title, *lines]
    if block.sentences:
        rows = [(text, 4 if at else 2) for row in block.rows for at, text in enumerate(row) if text]
        return [block.title, *(line for text, indent in rows for line in _piped(text, indent))]
    texts = [block.headings, *block.rows]
    widths = [max(len(row[index]) for row in texts) for index in range(len(block.headings))]
    lines = [block.title]
    for row in texts:
        cells = [
            cell.rjust(width) if at in block.numeric else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def _piped(text: str, indent: int) -> list[str]:
    return [" " * indent + line for line in wrapped(text, PIPED_WIDTH - indent)]


def show(blocks: Sequence[Table | Lines], mark: str = "") -> None:
    """Prints blocks to standard output, separated by empty lines; `mark` above the first, and each screen."""
    console = terminal_console(highlight=False)
    since = SCREEN_LINES
    for index, block in enumerate(blocks):
        if index:
            echo()
        if mark and since >= SCREEN_LINES:
            console.print(mark, style="bold red", soft_wrap=True, markup=False)
            since = 0
        since += 1 + len(plain(block))
        if console.is_terminal:
            _show_rich(console, block)
        else:
            echo("\n".join(plain(block)))


def _show_rich(console: Console, block: Table | Lines) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Text(block.title, style="bold"))
    if isinstance(block, Lines):
        for line in block.lines:
            console.print(Padding(Text(line), (0, 0, 0, 2)))
        return
    least, natural = _widths(block)
    room = console.width - 2 - GAP_OF_COLUMNS * (len(block.headings) - 1)
    if (block.sentences and console.width < SIDE_BY_SIDE_FROM) or sum(least) > room:
        for first, *others in block.rows:
            console.print(Padding(Text(first, style="bold"), (0, 0, 0, 2)))
            for column, text in zip(block.headings[1:], others, strict=True):
                named = text if block.sentences else f"{column}: {text}"
                console.print(Padding(Text(named), (0, 0, 0, 4)))
        return
    widths = fitted(natural, least, room)

    def print_rows(rows: Sequence[Sequence[str]], style: str = "") -> None:
        for line in aligned(rows, widths, {*block.numeric}, GAP_OF_COLUMNS):
            console.print(Text(f"  {line}", style=style), soft_wrap=True)

    print_rows([block.headings], "dim")
    console.print(Text("  " + (" " * GAP_OF_COLUMNS).join("─" * width for width in widths), style="dim"))
    print_rows(block.rows)


def _widths(block: Table) -> tuple[list[int], list[int]]:
    """Returns the least width of each column, and the one without wrapping; names and figures stay whole."""
    least, natural = [], []
    for at, column in enumerate(block.headings):
        texts = [column, *(row[at] for row in block.rows)]
        natural.append(max(map(width_of, texts)))
        words = max((width_of(word) for text in texts for word in text.split()), default=0)
        least.append(natural[-1] if at == 0 or at in block.numeric else min(words, LONGEST_WORD))
    return least, natural
