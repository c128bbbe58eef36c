"""Tables of a terminal: cut into parts where they are wider, never within a text."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from byteways.console.show_tables import parts, print_table

HEADINGS = ("from", *(f"gpu{index}" for index in range(8)))
ROWS = [(f"gpu{row}", *("1234.5*" for _ in range(8))) for row in range(8)]


def printed(width: int, headings: tuple[str, ...], rows: list[tuple[str, ...]], figures: range) -> str:
    console = Console(width=width, force_terminal=True, color_system=None, file=io.StringIO())
    print_table(console, "Title", headings, rows, figures)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(("width", "count"), [(160, 1), (80, 1), (70, 2), (40, 3), (10, 8)])
def test_a_wide_table_is_cut_between_columns(width: int, count: int) -> None:
    """Catches columns that are left out or told twice, and parts without the names of their rows."""
    found = parts(HEADINGS, ROWS, range(1, 9), width)
    assert len(found) == count
    assert all(part[0] == 0 for part in found)
    assert [index for part in found for index in part[1:]] == list(range(1, 9))


@pytest.mark.parametrize("width", [200, 80, 50])
def test_no_figure_is_cut(width: int) -> None:
    """Catches `1234…`, and lines beyond the terminal."""
    text = printed(width, HEADINGS, ROWS, range(1, 9))
    assert text.count("1234.5*") == 64 and "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_names_are_wrapped_and_not_cut() -> None:
    """Catches names of rows that end in dots where they leave no room for figures."""
    rows = [("register and unregister", "write-combined", "gpu0 of cpu0", f"{n}.5 ms") for n in range(3)]
    text = printed(54, ("step", "memory", "devices", "1 GiB"), rows, range(3, 4))
    assert "…" not in text and "write-combined" in text
    assert max(map(len, text.splitlines())) <= 54


def test_a_pipe_has_a_row_a_line() -> None:
    """Catches a row that `grep` would see in part."""
    console = Console(width=10_000, color_system=None, file=io.StringIO())
    print_table(console, "Title", HEADINGS, ROWS, range(1, 9))
    assert isinstance(console.file, io.StringIO)
    assert len(console.file.getvalue().splitlines()) == 11
