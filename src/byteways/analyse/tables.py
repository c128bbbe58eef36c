"""All tables of a run as plain data, which `show` prints and the report renders. analyse/grids.py makes the
grids; the others are lists of rows: patterns, warnings, unmeasured cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from byteways.analyse.best import BestMap, best_map
from byteways.analyse.grids import (
    Grid,
    first_touch_tables,
    host_tables,
    inside_gpu,
    latency_tables,
    matrices,
)
from byteways.analyse.results_index import Index
from byteways.analyse.selection import (
    APART,
    KINDS,
    at_largest,
    concurrent,
    kind,
    label_order,
)
from byteways.analyse.subjects.interference import slowdowns
from byteways.analyse.subjects.saturation import below_the_best
from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.words import describe
from byteways.plan.case import PATTERNS
from byteways.results.record import Record, Warning
from byteways.units import format_bandwidth, format_size, format_time


def _percent(part: float) -> str:
    """'3.2 %', '188 %', '-75 %'."""
    value = 100 * part
    return f"{value:.0f} %" if abs(value) >= 9.95 else f"{value:.2g} %"


#: Formats of a warning's values; default: plain numbers.
FIGURES: Mapping[str, Callable[[float], str]] = {
    "noisy": _percent,
    "drift": _percent,
    "placement": lambda value: f"{100 * value:.3g} %",
    "serialised": format_bandwidth,
    "unexpected-path": lambda value: format_size(round(value)),
    "ungated": lambda value: "gated" if value else "not gated",
    "gate-slows": format_time,
    "short-batch": _percent,
    "clock-drop": lambda value: f"{value:.0f} MHz",
    "host-busy": _percent,
    "steal": _percent,
    "cpu-throttled": lambda value: f"{value:.3g} s",
}


@dataclass(frozen=True)
class PatternRow:
    """A concurrent case: the sum, and each direction's rate in the same rounds.

    With background load there is no sum: the value is the measured flow's, `beside` the load's.
    """

    cell: Cell
    directions: tuple[tuple[str, float], ...]  # path, bytes/s
    whole: float | None  # sum of the flows in bytes/s, timed from the gate to the last end
    beside: float | None = None  # bytes/s


@dataclass(frozen=True)
class Reason:
    """Cases with the same status and reason."""

    status: str
    reason: str
    count: int
    example: str
    interfaces: tuple[str, ...]


@dataclass(frozen=True)
class WarningGroup:
    id: str
    advice: str
    count: int
    example: str
    observed: str
    required: str


def patterns(found: Sequence[Cell], size_bytes: int | None = None) -> list[PatternRow]:
    """Returns concurrent cases at their largest size, ordered by pattern, interface and path."""
    rows = []
    kinds = list(KINDS)
    told = {pair.cell.record.case_id for pair in slowdowns(found)}  # these have their own table
    apart = [cell for cell in concurrent(found) if cell.record.case_id not in told]
    order = sorted(
        at_largest(apart, size_bytes),
        key=lambda cell: (
            PATTERNS.index(cell.record.pattern),
            kinds.index(kind(cell)),
            cell.variant,
            label_order(cell.record.path),
        ),
    )
    for cell in order:
        disturbed = cell.record.pattern == "interference"
        directions = tuple(cell.directions.items())
        load = cell.load.value if disturbed else 0.0
        rows.append(PatternRow(cell, directions, None if disturbed else _whole(cell), load or None))
    return rows


def _whole(cell: Cell) -> float | None:
    """Returns the sum from the gate to the last end, in the rounds of the value."""
    sums = [sum((record.end_to_end_bytes_per_s or {}).values()) for record in cell.middle]
    return fmean(sums) or None


def not_measured(records: Iterable[Record]) -> list[Reason]:
    """Groups cases without a value by displayed status and reason, the gravest status first."""
    order = ("corrupt", "failed", "lost", "timeout", "skipped", "left out")
    rest = [record for record in records if record.status != "measured"]
    grouped = group_by(rest, lambda record: (record.told_status, record.reason or "no reason was given"))
    reasons = [
        Reason(
            status,
            reason,
            len({record.case_id for record in same}),
            describe(same[0]),
            tuple(dict.fromkeys(record.interface for record in same)),
        )
        for (status, reason), same in grouped.items()
    ]
    return sorted(reasons, key=lambda reason: (order.index(reason.status), -reason.count))


def _excess(warning: Warning) -> float:
    """Returns by what factor a warning's value is off; 0 without two numbers."""
    observed, required = warning.observed, warning.required
    if not isinstance(observed, (int, float)) or not isinstance(required, (int, float)):
        return 0.0
    low, high = sorted((abs(observed), abs(required)))
    return high / low if low else 0.0


def warning_groups(records: Iterable[Record]) -> list[WarningGroup]:
    """Groups warnings by id, most frequent first, each with its worst example."""
    given = [(warning, record) for record in records for warning in record.warnings]
    groups = []
    for name, same in group_by(given, lambda pair: pair[0].id).items():
        warning, record = max(same, key=lambda pair: _excess(pair[0]))
        count = len({record.case_id for _, record in same})
        groups.append(
            WarningGroup(
                name,
                warning.advice,
                count,
                describe(record),
                _figure(name, warning.observed),
                _figure(name, warning.required),
            )
        )
    return sorted(groups, key=lambda group: -group.count)


def _figure(warning: str, value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return FIGURES[warning](value) if warning in FIGURES else f"{value:.4g}"


@dataclass(frozen=True)
class Tables:
    """Every table of a run."""

    matrices: list[Grid]
    inside: Grid | None
    host: list[Grid]
    first_touch: list[Grid]
    latency: list[Grid]
    patterns: list[PatternRow]
    best: BestMap | None
    warnings: list[WarningGroup]
    not_measured: list[Reason]


def tables(run: Run, size_bytes: int | None = None) -> Tables:
    """Returns all tables, at the largest size of each or at `size_bytes`."""
    index = Index.of(run)
    found, records = index.cells, index.records
    below = below_the_best(found)
    common = [
        cell for cell in found if cell.record.interface not in APART and cell.record.case_id not in below
    ]
    between = matrices(common, size_bytes)
    shown = {cell.record.case_id for grid in between for cell in grid.members()}
    return Tables(
        between,
        inside_gpu(common, size_bytes, shown),
        host_tables(common, size_bytes),
        first_touch_tables(found),
        latency_tables(found, size_bytes),
        patterns(found, size_bytes),
        best_map(index, common),
        warning_groups(records),
        not_measured(records),
    )
