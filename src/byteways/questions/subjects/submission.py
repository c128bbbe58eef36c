"""Submission methods compared over sizes: single calls, one graph, one batched call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate
from byteways.answers.claims.wording import best_by_calls, faster, no_difference, slower
from byteways.answers.results.counting import listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, kind
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import bandwidth_number, format_size, short_time, three_digits
from byteways.cases.block_layout import moves_blocks
from byteways.cases.options import SUBMIT
from byteways.questions.display.table import Columns, Table, TableColumn, figures, tabulated
from byteways.questions.display.topic import Topic

SUBMISSION_METHODS = ("calls", "graph", "batch")


@dataclass(frozen=True)
class Submission:
    """One transfer submitted by several methods: cells by method, for each size in bytes, ascending."""

    sizes: tuple[tuple[int, dict[str, Result]], ...]

    @property
    def first(self) -> Result:
        """Any of its cells: they differ only in size and method."""
        return next(iter(self.sizes[0][1].values()))

    @property
    def ways(self) -> list[str]:
        return [way for way in SUBMISSION_METHODS if any(way in at for _, at in self.sizes)]

    def beside_calls(self, way: str) -> list[tuple[int, Result, Result]]:
        """Returns (size in bytes, calls, this method) for sizes measured with both."""
        return [(size, at["calls"], at[way]) for size, at in self.sizes if "calls" in at and way in at]


def submissions(results: Sequence[Result]) -> list[Submission]:
    """Returns unidirectional transfers from cold memory that were submitted by several methods."""
    chosen = [
        cell
        for cell in results
        if "submit" in cell.record.options
        and cell.record.pattern == "unidirectional"
        and cell.record.cache == "cold"
        and not moves_blocks(cell.record.interface)
    ]
    alike = group_by(chosen, _alike)
    made = []
    for members in alike.values():
        by_size = group_by(members, lambda cell: cell.size_bytes)
        sizes = [
            (size, {str(cell.record.options["submit"]): cell for cell in by_size[size]})
            for size in sorted(by_size)
        ]
        made.append(Submission(tuple(sizes)))
    return [case for case in made if len(case.ways) > 1]


def _alike(cell: Result) -> tuple[str, ...]:
    record = cell.record
    rest = {name: value for name, value in record.options.items() if name != "submit"}
    settings = json.dumps([rest, record.environment], sort_keys=True)
    return record.interface, record.source, record.destination, record.access, settings


def host_ns(cell: Result) -> float | None:
    """Returns the host time to enqueue one operation in ns; None if not recorded."""
    times = [record.submit_ns for record in cell.records if record.submit_ns]
    return median(times) if times else None


def topic(index: Index) -> Topic | None:
    """Returns the topic; None if nothing was submitted by two methods."""
    tables = [_table(submission) for submission in submissions(index.cells)]
    if not tables:
        return None
    return Topic(
        "submission",
        "Submission: calls, graphs, batches",
        "The same operations submitted as single calls, as one graph recorded beforehand, or by one "
        "batched copy call. Rates are gated device rates; host time is the enqueue time per operation, "
        "without the preparation of graphs.",
        tuple(tables),
    )


#: A size, and its results by method.
_SubmittedSize = tuple[int, dict[str, Result]]


def _table(case: Submission) -> Table:
    record, ways = case.first.record, case.ways
    method = case.first.variant.without_option(SUBMIT.name).named(memory=False)

    def rates(way: str) -> TableColumn[_SubmittedSize]:
        return figures(f"{way}, GB/s", lambda row: _rate(row[1].get(way)))

    def host_times(way: str) -> TableColumn[_SubmittedSize]:
        return figures(f"{way}, host ns", lambda row: _host_ns(row[1].get(way)))

    columns: Columns[_SubmittedSize] = (
        figures("size", lambda row: format_size(row[0])),
        *map(rates, ways),
        *map(host_times, ways),
    )
    return tabulated(f"{method}, {record.source} > {record.destination}", columns, case.sizes)


def _rate(cell: Result | None) -> str:
    return "" if cell is None else bandwidth_number(cell.value)


def _host_ns(cell: Result | None) -> str:
    time = None if cell is None else host_ns(cell)
    return "" if time is None else three_digits(time)


#: Methods as phrases in sentences.
METHOD_PHRASES = {"graph": "by one graph", "batch": "by one batched call"}
#: … and as the unit that is submitted.
SUBMITTED_UNITS = {"graph": "one graph", "batch": "one batched call"}


def submitting(index: Index) -> Iterator[Finding]:
    """Reports for the first pair of each interface and kind where submission other than by calls pays off."""
    differing = [
        case for case in submissions(index.ranked) if any(case.beside_calls(way) for way in METHOD_PHRASES)
    ]
    even = []
    for (name, _), members in group_by(
        differing, lambda case: (kind(case.first), case.first.record.interface)
    ).items():
        if finding := _finding(name, members[0]):
            yield finding
        else:
            even.append(members[0])
    if even:
        yield _no_gain(even)


def _compared(case: Submission, way: str) -> list[tuple[int, Claim, Result, Result]]:
    """Compares this method with calls at each common size."""
    pairs = case.beside_calls(way)
    return [
        (
            size,
            compare(
                other, calls, kind="submission", ways=len(pairs) + 1, names=(METHOD_PHRASES[way], "by calls")
            ),
            calls,
            other,
        )
        for size, calls, other in pairs
    ]


def _no_gain(group: Sequence[Submission]) -> Finding:
    ways = [SUBMITTED_UNITS[way] for way in METHOD_PHRASES if any(case.beside_calls(way) for case in group)]
    named = [f"{case.first.record.interface} {case.first.record.path}" for case in group]
    figures = [
        cell
        for case in group
        for way in METHOD_PHRASES
        for _, *both in case.beside_calls(way)
        for cell in both
    ]
    claims = [claim for case in group for way in METHOD_PHRASES for _, claim, *_ in _compared(case, way)]
    text = no_difference((*ways, "single calls"), claims)
    title = f"Submission: {text}: {listed(named)}"
    detail = f"Gated rates: the host enqueues ahead of the device. {_host(group[0])}"
    return finding(title, detail.strip(), Priority.SUBMISSION_NO_GAIN, figures, claims)


def _finding(name: str, case: Submission) -> Finding | None:
    """Returns the finding; None if no method differs from calls at any size."""
    interface = case.first.record.interface
    won = {way: _gains(case, way) for way in METHOD_PHRASES if way in case.ways}
    lost = {way: _gains(case, way, lost=True) for way in METHOD_PHRASES if way in case.ways}
    figures: list[Result] = []
    claims: list[Claim] = []
    said = []
    for way, gains in won.items():
        if gains:
            size, claim, calls, other = max(gains, key=lambda gain: gain[1].gain)
            said.append(
                f"{METHOD_PHRASES[way]} is {faster(claim)} by calls at {format_size(size)} "
                f"({rate(other)} vs {rate(calls)} GB/s){_until(case, way, gains)}"
            )
            figures += [calls, other]
            claims += [gain[1] for gain in gains]
    lost_by = []
    for way, losses in lost.items():
        if losses:
            size, claim, *_ = max(losses, key=lambda loss: loss[1].gain)
            lost_by.append(f"{METHOD_PHRASES[way]} it is {slower(claim)} at {format_size(size)}")
            claims += [loss[1] for loss in losses]
    if said:
        title = f"{PAIR_KINDS[name]}, {interface} {listed(said)}"
    elif lost_by:
        title = f"{PAIR_KINDS[name]}, {interface} {best_by_calls(claims)}: {listed(lost_by)}"
        lost_by = []
    else:
        return None
    enqueueing = _host(case)
    if enqueueing:
        figures += case.sizes[0][1].values()
    detail = f"{case.first.record.path}, gated rates: the host enqueues ahead of the device. {enqueueing}"
    if lost_by:
        detail += f" But {listed(lost_by)}."
    priority = Priority.SUBMISSION if said else Priority.SUBMISSION_LOSS
    return finding(title, detail.strip(), priority, figures, claims)


def _gains(case: Submission, way: str, *, lost: bool = False) -> list[tuple[int, Claim, Result, Result]]:
    """Returns the sizes at which this method is faster than calls, or with `lost` slower."""
    return [entry for entry in _compared(case, way) if (entry[1].trails if lost else entry[1].leads)]


def _until(case: Submission, way: str, gains: list[tuple[int, Claim, Result, Result]]) -> str:
    """', nothing from 1 MiB on': the smallest size from which on there is no gain."""
    rest = [size for size, *_ in case.beside_calls(way) if size > max(gain[0] for gain in gains)]
    return f", nothing from {format_size(rest[0])} on" if rest else ""


def _host(case: Submission) -> str:
    """Describes the host time per operation at the smallest size, by method."""
    size, at = case.sizes[0]
    times = {way: time for way in case.ways if way in at and (time := host_ns(at[way])) is not None}
    if len(times) < 2:
        return ""
    parts = [
        f"{short_time(time)} {'by calls' if way == 'calls' else METHOD_PHRASES[way]}"
        for way, time in times.items()
    ]
    return f"Host time to enqueue one of {format_size(size)}: {listed(parts)}."
