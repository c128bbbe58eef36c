"""What a part of the report and of `byteways show` is made of: tables and plots of one question, as data.

A topic is built from the records by one function of analyse/subjects; report and terminal render all of them
alike, so that a new question needs neither a template nor a printer. A topic without data is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from byteways.analyse.summary import Cell, Run


@dataclass(frozen=True)
class Table:
    """Rows of text under headings.

    `numeric` lists the columns that hold figures and stand to the right; their unit is in the heading. `heat`
    has, of tables whose cells compare, the share of the greatest figure for every cell (0 to 1), None for
    those that have none.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    note: str = ""
    heat: tuple[tuple[float | None, ...], ...] = ()

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.headings) for row in self.rows)
        assert not self.heat or [len(row) for row in self.heat] == [len(row) for row in self.rows]


@dataclass(frozen=True)
class PlotPoint:
    """`low`..`high`: the 95 % interval of `y`, or the span of rounds. `text` is shown when pointed at."""

    x: float
    y: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Line:
    """`published`: figures of a source, drawn as marks without a line; they are no measurements of ours."""

    label: str
    points: tuple[PlotPoint, ...]
    published: bool = False


@dataclass(frozen=True)
class Mark:
    """A level or a place that lines are read against: a peak, the size of a cache."""

    label: str
    at: float


@dataclass(frozen=True)
class Plot:
    """Lines over one axis, in the units that the labels name. `x_sizes`: x is in bytes."""

    title: str
    caption: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_sizes: bool = False
    x_log: bool = False
    y_log: bool = False
    levels: tuple[Mark, ...] = ()  # of y
    places: tuple[Mark, ...] = ()  # of x


@dataclass(frozen=True)
class Topic:
    """One question and its answer. `anchor` is its name in addresses: lower case, digits, hyphens."""

    anchor: str
    title: str
    lead: str
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()


#: Builds a topic from a run and its cells; None when the run has nothing to say about it.
Builder = Callable[[Run, Sequence[Cell]], Topic | None]
