"""All tables of a run as plain data: `show` prints them, the report renders them. Grids are made in
analyse/grids.py; the others are lists of rows: patterns, warnings, what was not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from byteways.analyse.best import BestMap, best_map
from byteways.analyse.grids import (
    Grid,
    first_touch_tables,
    host_tables,
    inside_gpu,
    latency_tables,
    matrices,
)
from byteways.analyse.interference import slowdowns
from byteways.analyse.saturation import below_the_best
from byteways.analyse.selection import (
    APART,
    KINDS,
    at_largest,
    concurrent,
    kind,
    label_order,
)
from byteways.analyse.summary import Cell, cells, group_by
from byteways.analyse.words import describe
from byteways.plan.case import PATTERNS
from byteways.results.record import Record, Warning
from byteways.units import format_bandwidth, format_size


def _percent(part: float) -> str:
    """'3.2 %', '188 %', '-75 %'."""
    value = 100 * part
    return f"{value:.0f} %" if abs(value) >= 9.95 else f"{value:.2g} %"


#: How the figures of a warning are written; those of others are plain numbers.
FIGURES: Mapping[str, Callable[[float], str]] = {
    "noisy": _percent,
    "drift": _percent,
    "placement": lambda value: f"{100 * value:.3g} %",
    "serialised": format_bandwidth,
    "unexpected-path": lambda value: format_size(round(value)),
    "ungated": lambda value: "gated" if value else "not gated",
    "clock-drop": lambda value: f"{value:.0f} MHz",
    "host-busy": _percent,
    "steal": _percent,
    "cpu-throttled": lambda value: f"{value:.3g} s",
}


@dataclass(frozen=True)
class PatternRow:
    """A concurrent case: what each direction got, and the sum."""

    cell: Cell
    directions: tuple[tuple[str, float], ...]  # path, bytes/s
    whole: float | None  # bytes/s of the sum, timed from the gate to the last end


@dataclass(frozen=True)
class Reason:
    """Cases that share status and reason."""

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
    """Concurrent cases at their largest size, in the order of patterns, interfaces and paths."""
    rows = []
    kinds = list(KINDS)
    told = {pair.cell.record.case_id for pair in slowdowns(found)}  # in a table of their own
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
        record = cell.record
        rates = record.end_to_end_bytes_per_s or {}
        # What disturbs is no part of the figure.
        counted = [f"{cell.source.agent}>{cell.destination.agent}"] * (record.pattern == "interference")
        whole = sum(rate for path, rate in rates.items() if path in (counted or rates)) or None
        rows.append(PatternRow(cell, tuple((record.directions or {}).items()), whole))
    return rows


def not_measured(records: Iterable[Record]) -> list[Reason]:
    """Cases without a figure, grouped by status, as it is told, and reason, the gravest status first."""
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
    """How far off a warning is, as a factor; 0 where it has no two numbers."""
    observed, required = warning.observed, warning.required
    if not isinstance(observed, (int, float)) or not isinstance(required, (int, float)):
        return 0.0
    low, high = sorted((abs(observed), abs(required)))
    return high / low if low else 0.0


def warning_groups(records: Iterable[Record]) -> list[WarningGroup]:
    """Warnings by id, the most frequent first, each with the example that is farthest off."""
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


def tables(records: Sequence[Record], size_bytes: int | None = None) -> Tables:
    """All tables, at the largest size of each or at `size_bytes`."""
    found = cells(records)
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
        best_map(common),
        warning_groups(records),
        not_measured(records),
    )
