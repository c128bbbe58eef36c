"""Tables and lists of a terminal: whole names, within its width."""

from __future__ import annotations

import pytest
import rich.console

from byteways.console.layout import PIPED_WIDTH, SCREEN_LINES, Lines, plain, show
from byteways.models import names
from byteways.questions.display.table import Table

HEADINGS = ("name", "description", "devices", "assumed")
ROWS = tuple((name, "a node of eight dies " * 3, "8 GPUs, 4 CPU", "108 of 149 numbers") for name in names())


def shown(monkeypatch: pytest.MonkeyPatch, width: int, *blocks: Table | Lines, mark: str = "") -> list[str]:
    console = rich.console.Console(force_terminal=True, width=width, record=True, no_color=True)
    monkeypatch.setattr("byteways.console.layout.terminal_console", lambda **_: console)
    show(blocks, mark)
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [200, 80, 60, 30])
def test_names_are_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a name or a figure that is broken, and a line beyond the terminal."""
    table = Table("machines", HEADINGS, ROWS, (HEADINGS.index("assumed"),))
    lines = shown(monkeypatch, width, table)
    assert max(map(len, lines)) <= width
    first = [line.split()[0] for line in lines if line.strip()]
    assert set(names()) <= set(first)
    assert sum("108 of 149 numbers" in line for line in lines) == (len(ROWS) if width > 30 else 0)


def test_the_mark_is_printed_once_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a mark above each short table, and a table without the mark in sight."""
    short = [Lines(f"block {number}", ("line",)) for number in range(5)]
    assert shown(monkeypatch, 80, *short, mark="SIMULATED").count("SIMULATED") == 1
    long = [Lines("block", ("line",) * SCREEN_LINES)] * 2
    assert shown(monkeypatch, 80, *long, mark="SIMULATED").count("SIMULATED") == 2


def test_sentences_are_wrapped_in_a_pipe() -> None:
    """Catches a row of a thousand characters in a file, a word that is lost, and figures that are cut."""
    words = tuple(f"word{number}" for number in range(300))
    claims = Table("claims", ("verdict", "claim"), (("built in", " ".join(words)),), (), sentences=True)
    lines = [*plain(claims), *plain(Lines("notes", (" ".join(words),), sentences=True))]
    assert max(map(len, lines)) <= PIPED_WIDTH
    assert " ".join(lines).split() == ["claims", "built", "in", *words, "notes", *words]
    figures = Table("figures", ("name", "GB/s"), (("a" * 2 * PIPED_WIDTH, "1.5"),), (1,))
    assert [line.split() for line in plain(figures)][-1] == ["a" * 2 * PIPED_WIDTH, "1.5"]
