"""A topic: tables and charts on one question, a section of the report and of `byteways show`, as data.

A function in explain/subjects builds each topic from the records. Report and terminal render all topics
alike, so a new topic needs neither template nor printer. A topic without data is not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from byteways.explain.display.chart import Chart
from byteways.explain.results.index import Index


@dataclass(frozen=True)
class TopicTable:
    """Rows of text under headings.

    `numeric` lists the columns of numbers, which are right-aligned and have their unit in the heading.
    `heat` has the fraction of the greatest value for every comparable cell (0 to 1), None for other cells.
    `bands` has a word for every cell of ratios: within, above or below 1 by more than is drawn as a band.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    note: str = ""
    heat: tuple[tuple[float | None, ...], ...] = ()
    bands: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.headings) for row in self.rows)
        assert not self.heat or [len(row) for row in self.heat] == [len(row) for row in self.rows]


@dataclass(frozen=True)
class Chip:
    """A verdict on a claim that rests on values of a figure; `kind` and `sign` tell verdicts apart."""

    verdict: str
    kind: str  # good, bad or open
    sign: str
    claim: str
    details: str


@dataclass(frozen=True)
class Exhibit:
    """A figure of a publication: its verdicts, its charts or matrices, and its values as tables."""

    anchor: str
    title: str
    chips: tuple[Chip, ...]
    charts: tuple[Chart, ...]
    matrices: tuple[TopicTable, ...]
    values: tuple[TopicTable, ...]  # shown folded
    tables: tuple[
        TopicTable, ...
    ]  # of the topic, which it shows: its values, or its matrices in another form


@dataclass(frozen=True)
class Topic:
    """One question and its answer. `anchor` is its URL fragment: lower case, digits, hyphens."""

    anchor: str
    title: str
    lead: str
    tables: tuple[TopicTable, ...] = ()
    charts: tuple[Chart, ...] = ()
    #: On a page these show some of the tables, which a terminal prints in their place.
    exhibits: tuple[Exhibit, ...] = ()
    chips: tuple[Chip, ...] = ()

    @property
    def other_tables(self) -> tuple[TopicTable, ...]:
        """The tables that no exhibit shows."""
        shown = {table.title for exhibit in self.exhibits for table in exhibit.tables}
        return tuple(table for table in self.tables if table.title not in shown)


#: Builds a topic from a run; returns None if the run has no data for it.
Builder = Callable[[Index], Topic | None]
