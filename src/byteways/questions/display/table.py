"""The one kind of table: rows of text, which terminal and page render alike.

A cell of text may have a result behind it: its share of the peak and what a reader may ask of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from byteways.answers.results.case_names import describe
from byteways.answers.results.summary import Result
from byteways.base.text import Sentence
from byteways.base.units import format_size
from byteways.questions.display.numbers import METRIC_UNITS, cell_number, number, percent_number
from byteways.record.simulation_mark import voice

Value = TypeVar("Value")
Shown = TypeVar("Shown")

#: Shown instead of a percentage if the peak is unknown.
NO_PEAK = "–"


@dataclass(frozen=True)
class TableResult:
    """A result in a table. `quantity` is "bandwidth" (bytes/s) or "latency" (ns)."""

    result: Result
    quantity: str = "bandwidth"

    @property
    def absolute(self) -> str:
        return cell_number(self.result, self.quantity)

    @property
    def percent(self) -> str:
        """The share of the peak."""
        fraction = self.result.fraction if self.quantity == "bandwidth" else None
        return NO_PEAK if fraction is None else percent_number(fraction)

    @property
    def warned(self) -> bool:
        return bool(self.result.warning_ids)

    @property
    def details(self) -> str:
        """Interval, samples, executor and engine, one fact per line."""
        result, record, unit = self.result, self.result.record, METRIC_UNITS[self.quantity]
        low, high = number(result.low, self.quantity), number(result.high, self.quantity)
        several, quote = result.rounds > 1, voice(bool(record.simulated)).quote
        kind = f"repeatability interval, {result.rounds} rounds," if several else "interval of one round,"
        unranked = "" if result.ranked else "; too few rounds to be ranked"
        lines = [
            describe(record),
            f"{kind} {low} to {high} {unit}, n = {result.samples}{unranked}",
            f"executor {record.executor}, {format_size(record.size_bytes)}, cache {record.cache}",
        ]
        if record.engine:
            evidence = quote(record.engine_evidence or "no evidence recorded")
            lines.append(f"engine {record.engine}: {evidence}")
        if record.timed_by:
            lines.append(
                f"timed by {record.timed_by}{', gated' if record.gated else ''}, batch {record.batch}"
            )
        if record.peak_source:
            lines.append(f"peak: {quote(record.peak_source)}")
        if record.parts:
            parts = (f"{path} {percent_number(part)}" for path, part in record.parts.items())
            lines.append(f"parts: {', '.join(parts)}")
        if result.warning_ids:
            lines.append(f"warnings: {', '.join(result.warning_ids)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Table:
    """Rows of text under headings.

    `numeric` lists the columns of numbers, which are right-aligned and have their unit in the heading, or are
    in `unit`.
    `heat` has the fraction of the greatest value for every comparable cell (0 to 1), None for other cells.
    `bands` has a word for every cell that is drawn otherwise than the rest: a ratio within, above or below 1
    by more than is drawn as a band, or a status.
    `notes` follow below it.
    `results` has the results behind the cells, None for other cells.
    `sentences` says that cells are long: a narrow terminal has the other cells below the first.
    `advice` has a sentence for every row.
    """

    title: Sentence
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    heat: tuple[tuple[float | None, ...], ...] = ()
    bands: tuple[tuple[str, ...], ...] = ()
    results: tuple[tuple[TableResult | None, ...], ...] = ()
    unit: str = ""
    sentences: bool = False
    advice: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """The notes in one line."""
        return "; ".join(filter(None, self.notes))

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.headings) for row in self.rows)
        for cells in filter(None, (self.heat, self.bands, self.results)):
            assert [len(row) for row in cells] == [len(row) for row in self.rows]
        assert len(self.advice) in (0, len(self.rows))

    @property
    def has_peaks(self) -> bool:
        """Whether any result can be shown as percentage of a peak."""
        return any(cell is not None and cell.percent != NO_PEAK for row in self.results for cell in row)

    def members(self) -> Iterator[Result]:
        """Yields the results behind the cells."""
        return (cell.result for row in self.results for cell in row if cell is not None)


@dataclass(frozen=True)
class TableColumn(Generic[Value]):
    """A column: its heading, what makes the cell of a row, whether cells are numbers, and their shade."""

    head: str
    cell: Callable[[Value], str]
    numeric: bool = False
    shade: Callable[[Value], float | None] | None = None


#: The columns of a table whose rows are made of such values.
Columns = Sequence[TableColumn[Value]]


def words(head: str, cell: Callable[[Value], str]) -> TableColumn[Value]:
    """Returns a column of text."""
    return TableColumn(head, cell)


def figures(
    head: str, cell: Callable[[Value], str], shade: Callable[[Value], float | None] | None = None
) -> TableColumn[Value]:
    """Returns a column of numbers (Table.numeric), with their shades (Table.heat) if there are any."""
    return TableColumn(head, cell, True, shade)


def tabulated(title: Sentence, columns: Columns[Value], rows: Iterable[Value], *notes: str) -> Table:
    """Returns the table with a row for each value."""
    values = [*rows]
    shades = any(column.shade for column in columns)
    return Table(
        title,
        tuple(column.head for column in columns),
        tuple(tuple(column.cell(value) for column in columns) for value in values),
        tuple(place for place, column in enumerate(columns) if column.numeric),
        notes,
        tuple(tuple(column.shade(value) if column.shade else None for column in columns) for value in values)
        if shades
        else (),
    )


def shaded(
    title: str,
    corner: str,
    names: tuple[Sequence[str], Sequence[str]],
    at: Mapping[tuple[str, str], Value],
    text: Callable[[Value], str],
    shade: Callable[[Value], float | None],
    band: Callable[[Value], str] | None = None,
    *,
    missing: str = "–",
    notes: tuple[str, ...] = (),
) -> Table:
    """Returns a matrix of figures.

    Args:
        title: Of the table.
        corner: What rows and columns are.
        names: Of the rows, and of the columns.
        at: Values by row and column.
        text: Formats a value.
        shade: From 0 to 1; None for a value without.
        band: A value's band (Table.bands).
        missing: Where there is no value.
        notes: Below the table.
    """
    rows, columns = names
    cells = [[at.get((row, column)) for column in columns] for row in rows]

    def each(made: Callable[[Value], Shown], default: Shown) -> Iterator[tuple[Shown, ...]]:
        return (tuple(default if value is None else made(value) for value in values) for values in cells)

    return Table(
        title,
        (corner, *columns),
        tuple((row, *texts) for row, texts in zip(rows, each(text, missing), strict=True)),
        tuple(range(1, len(columns) + 1)),
        notes,
        tuple((None, *shades) for shades in each(shade, None)),
        tuple(("", *bands) for bands in each(band, "")) if band else (),
    )
