"""A topic: tables and charts on one question, a section of the report and of `byteways show`, as data.

A function in explain/subjects builds each topic from the records. Report and terminal render all topics
alike, so a new topic needs neither template nor printer. A topic without data is not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from byteways.answers.results.index import Index
from byteways.base.text import Sentence
from byteways.questions.display.chart import Chart
from byteways.questions.display.table import Table


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
    matrices: tuple[Table, ...]
    values: tuple[Table, ...]  # shown folded
    tables: tuple[Table, ...]  # of the topic, which it shows: its values, or its matrices in another form


@dataclass(frozen=True)
class Topic:
    """One question and its answer. `anchor` is its URL fragment: lower case, digits, hyphens."""

    anchor: str
    title: Sentence
    lead: Sentence
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    #: On a page these show some of the tables, which a terminal prints in their place.
    exhibits: tuple[Exhibit, ...] = ()
    chips: tuple[Chip, ...] = ()
    #: At a glance: a page shows these above the tables.
    overview: tuple[Chart, ...] = ()

    @property
    def other_tables(self) -> tuple[Table, ...]:
        """The tables that no exhibit shows."""
        shown = {table.title for exhibit in self.exhibits for table in exhibit.tables}
        return tuple(table for table in self.tables if table.title not in shown)


#: Builds a topic from a run; returns None if the run has no data for it.
Builder = Callable[[Index], Topic | None]
