"""Where the progress of a run is drawn in place: a terminal, or the output of a notebook's cell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from byteways.base.text import visible
from byteways.console.terminal import console

if TYPE_CHECKING:
    from rich.live import Live


@dataclass(frozen=True)
class Status:
    """What is drawn: cases done of all, the time left, the present case, the counts of outcomes, the round
    from 1 and the last result.
    """

    done: int
    total: int
    time_left: str
    case: str
    counts: str
    round: int = 1
    last: str = ""


class Screen(Protocol):
    """Shows one status at a time, and lines that stay."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def draw(self, status: Status) -> None: ...

    def line(self, text: str, style: str) -> None: ...


class Terminal:
    """The last two lines of a terminal, drawn by Rich; they disappear at the end."""

    def __init__(self) -> None:
        from rich.live import Live

        self._live: Live = Live(console=console(stderr=True), auto_refresh=False, transient=True)

    def start(self) -> None:
        self._live.start()

    def stop(self) -> None:
        self._live.stop()

    def draw(self, status: Status) -> None:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        row = Table.grid(padding=(0, 1))
        row.add_row(
            ProgressBar(status.total, status.done, width=20),
            Text(f"{status.done}/{status.total}", no_wrap=True),
            Text(f"{status.time_left} left", style="cyan", no_wrap=True),
            Text(f"round {status.round}" if status.round > 1 else "", no_wrap=True),
            Text(status.counts, style="dim", no_wrap=True, overflow="ellipsis"),
        )
        now = Text(status.case, no_wrap=True, overflow="ellipsis")
        if status.last:
            now.append(f"   last: {status.last}", style="dim")
        self._live.update(Group(row, now), refresh=True)

    def line(self, text: str, style: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(text, style=style))


class Notebook:
    """One output of a notebook's cell, updated in place.

    It uses the display protocol of Jupyter alone: Rich would need ipywidgets, which many notebooks lack. Text
    accompanies the HTML for front ends that show no HTML, and for notebooks executed without a display.
    """

    def __init__(self, display: Callable[..., Any] | None = None) -> None:
        if display is None:
            from IPython.display import display as of_ipython

            display = of_ipython
        self._display = display
        self._handle: Any = None

    def start(self) -> None:
        self._handle = self._display(_bundle(Status(0, 0, "", "", "")), raw=True, display_id=True)

    def stop(self) -> None:
        """Empties the output: the run that the cell returns says what was measured."""
        self._handle.update({"text/plain": "", "text/html": ""}, raw=True)

    def draw(self, status: Status) -> None:
        self._handle.update(_bundle(status), raw=True)

    def line(self, text: str, style: str) -> None:
        self._display({"text/plain": visible(text)}, raw=True)


def _bundle(status: Status) -> dict[str, str]:
    if not status.total:
        return {"text/plain": "starting", "text/html": "<em>starting</em>"}
    last = f"; last: {status.last}" if status.last else ""
    told = visible(
        f"{status.done}/{status.total}, {status.time_left} left: {status.case} ({status.counts}){last}"
    )
    bar = f'<progress max="{status.total}" value="{status.done}"></progress>'
    return {"text/plain": told, "text/html": f"{bar} {escape(told)}"}


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this, which can draw without a terminal."""
    if "ipykernel" not in sys.modules:
        return False
    return bool(console().is_jupyter)
