"""Tables and lists for the terminal: wrapped by Rich on a terminal, one line per row in a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from byteways.cli.terminal import console as terminal_console
from byteways.cli.terminal import echo

if TYPE_CHECKING:
    from rich.console import Console


#: Terminal width from which long-text columns are side by side.
SIDE_BY_SIDE_FROM = 140


@dataclass(frozen=True)
class TextTable:
    """Rows of text under a title; columns named in `right` are right-aligned.

    With `sentences` the cells are long: on a narrow terminal the other cells go below the first.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = field(default_factory=frozenset)
    sentences: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines under a title, printed as they are."""

    title: str
    lines: tuple[str, ...]


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


def plain(block: TextTable | Lines) -> list[str]:
    """Returns a block as lines without colour: title, then the content indented by two."""
    if isinstance(block, Lines):
        return [block.title, *(f"  {line}" for line in block.lines)]
    texts = [block.columns, *block.rows]
    widths = [max(len(row[index]) for row in texts) for index in range(len(block.columns))]
    lines = [block.title]
    for row in texts:
        cells = [
            cell.rjust(width) if column in block.right else cell.ljust(width)
            for column, cell, width in zip(block.columns, row, widths, strict=True)
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def show(blocks: Sequence[TextTable | Lines], mark: str = "") -> None:
    """Prints blocks to standard output, separated by empty lines; `mark` is printed above each."""
    console = terminal_console(highlight=False)
    for index, block in enumerate(blocks):
        if index:
            echo()
        if mark:
            console.print(mark, style="bold red", soft_wrap=True, markup=False)
        if console.is_terminal:
            _show_rich(console, block)
        else:
            echo("\n".join(plain(block)))


def _show_rich(console: Console, block: TextTable | Lines) -> None:
    from rich import box
    from rich.padding import Padding
    from rich.table import Table as RichTable
    from rich.text import Text

    console.print(Text(block.title, style="bold"))
    if isinstance(block, Lines):
        for line in block.lines:
            console.print(Padding(Text(line), (0, 0, 0, 2)))
        return
    if block.sentences and console.width < SIDE_BY_SIDE_FROM:
        for first, *others in block.rows:
            console.print(Padding(Text(first, style="bold"), (0, 0, 0, 2)))
            for text in others:
                console.print(Padding(Text(text), (0, 0, 0, 4)))
        return
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    for column in block.columns:
        table.add_column(Text(column), justify="right" if column in block.right else "left", overflow="fold")
    for row in block.rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(Padding(table, (0, 0, 0, 2)))
