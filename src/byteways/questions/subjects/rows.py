"""Pitched (2D) rows, by the vendor's copy call and by a packing kernel: a table for each pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate, span
from byteways.answers.claims.wording import faster, wins
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, kind
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import bandwidth_number, format_size
from byteways.cases.pitched_rows import DEFAULT_PITCH_BYTES, DEFAULT_STRIDED, DEFAULT_WIDTH_BYTES, moves_rows
from byteways.questions.display.table import Columns, Table, TableColumn, figures, tabulated, words
from byteways.questions.display.topic import Topic

#: The work, by the side that has a pitch.
WORK = {"source": "packing", "destination": "unpacking", "both": "a part of a matrix"}


@dataclass(frozen=True)
class ComparableRows:
    """What must be equal for two interfaces to be comparable."""

    source: str
    destination: str
    size_bytes: int
    strided: str
    width_bytes: int
    pitch_bytes: int
    cache: str

    @property
    def work(self) -> str:
        return WORK[self.strided]


def shape_of(cell: Result) -> ComparableRows:
    record = cell.record
    options = record.options
    return ComparableRows(
        record.source,
        record.destination,
        record.size_bytes,
        str(options.get("strided", DEFAULT_STRIDED)),
        int(options.get("width_bytes", DEFAULT_WIDTH_BYTES)),
        int(options.get("pitch_bytes", DEFAULT_PITCH_BYTES)),
        record.cache,
    )


def strided(results: Sequence[Result]) -> list[Result]:
    """Returns unidirectional transfers of pitched rows."""
    return [
        cell
        for cell in results
        if moves_rows(cell.record.interface) and cell.record.pattern == "unidirectional"
    ]


@dataclass(frozen=True)
class Rivals:
    """Equal rows by two interfaces, the leading one first."""

    shape: ComparableRows
    first: Result
    second: Result
    claim: Claim


def rivals(results: Sequence[Result]) -> list[Rivals]:
    """Returns shapes on which two interfaces differ significantly, with the best variant of each."""
    pairs = []
    for shape, members in group_by(strided(results), shape_of).items():
        best = {
            name: max(cells, key=lambda cell: cell.value)
            for name, cells in group_by(members, lambda cell: cell.record.interface).items()
        }
        ordered = sorted(best.values(), key=lambda cell: -cell.value)
        if len(ordered) < 2:
            continue
        claim = compare(ordered[0], ordered[1], kind="rows", ways=len(members))
        if claim.leads:
            pairs.append(Rivals(shape, ordered[0], ordered[1], claim))
    return pairs


def topic(index: Index) -> Topic | None:
    """Returns the topic of pitched rows; None if the run has none."""
    cells = strided(index.cells)
    if not cells:
        return None
    ends = group_by(cells, lambda cell: (cell.record.source, cell.record.destination, cell.size_bytes))
    return Topic(
        "rows",
        "Pitched (2D) copies",
        "2D copies of rows with a pitch at the source, the destination or both. Only the rows count, not "
        "the gaps, so a drop is the cost of partial cache lines or of many small pieces.",
        tuple(_table(members) for members in ends.values()),
    )


def _table(members: Sequence[Result]) -> Table:
    record = members[0].record
    interfaces = sorted({cell.record.interface for cell in members})
    greatest = max(cell.value for cell in members)
    shapes = group_by(members, shape_of)
    best = [
        (shape, {name: max(cells, key=_value) for name, cells in group_by(shapes[shape], _interface).items()})
        for shape in sorted(shapes, key=lambda each: (each.strided, each.width_bytes, each.pitch_bytes))
    ]

    def column(name: str) -> TableColumn[tuple[ComparableRows, dict[str, Result]]]:
        return figures(
            name, lambda row: _figure(row[1].get(name)), lambda row: _share(row[1].get(name), greatest)
        )

    columns: Columns[tuple[ComparableRows, dict[str, Result]]] = (
        words("work", lambda row: row[0].work),
        figures("width", lambda row: format_size(row[0].width_bytes)),
        figures("pitch", lambda row: format_size(row[0].pitch_bytes)),
        *map(column, interfaces),
    )
    title = f"{record.source} > {record.destination}, {format_size(record.size_bytes)} of rows, GB/s"
    return tabulated(title, columns, best, "Rows are packed where width equals pitch.")


def _value(cell: Result) -> float:
    return cell.value


def _interface(cell: Result) -> str:
    return cell.record.interface


def _named(shape: ComparableRows) -> tuple[str, str, str]:
    return shape.work, format_size(shape.width_bytes), format_size(shape.pitch_bytes)


def _figure(cell: Result | None) -> str:
    return "" if cell is None else bandwidth_number(cell.value)


def _share(cell: Result | None, greatest: float) -> float | None:
    return None if cell is None else cell.value / greatest


def rows(index: Index) -> Iterator[Finding]:
    """Reports for each kind of pair the shape with the largest difference between the interfaces."""
    for name, members in group_by(rivals(index.ranked), lambda each: kind(each.first)).items():
        most = max(members, key=lambda each: each.claim.gain)
        yield _finding(name, most, members)


def _finding(name: str, most: Rivals, shapes: list[Rivals]) -> Finding:
    shape, first, second = most.shape, most.first, most.second
    title = (
        f"{PAIR_KINDS[name]}, rows of {format_size(shape.width_bytes)} "
        f"every {format_size(shape.pitch_bytes)}: {first.record.interface} reaches {rate(first)} GB/s, "
        f"{faster(most.claim)} {second.record.interface} ({rate(second)})"
    )
    detail = (
        f"{format_size(shape.size_bytes)} of rows by {shape.work} on {first.record.path}, "
        f"interval {span(first)} GB/s; the gaps are not counted."
    )
    detail += wins({each.shape: (each.first.record.interface, each.claim) for each in shapes}, "shapes")
    return finding(title, detail, Priority.ROWS, (first, second), [each.claim for each in shapes])
