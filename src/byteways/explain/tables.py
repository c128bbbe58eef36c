"""All tables of a run as plain data, which `show` prints and the report renders. display/grids.py makes the
grids; the others are lists of rows: patterns, warnings, unmeasured cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from byteways.explain.best.best_interfaces import BestMap, best_map
from byteways.explain.display.grids import (
    Grid,
    first_touch_tables,
    host_tables,
    inside_gpu,
    latency_tables,
    matrices,
)
from byteways.explain.results.index import Index
from byteways.explain.results.obstacles import Reason, WarningGroup, not_measured, of_equal_devices
from byteways.explain.results.selection import (
    PAIR_KINDS,
    WITH_OWN_TABLES,
    at_largest,
    concurrent,
    kind,
    label_order,
)
from byteways.explain.results.summary import RecordedRun, Result
from byteways.explain.subjects.interference import slowdowns
from byteways.explain.subjects.saturation import below_the_best
from byteways.plan.case import PATTERNS


@dataclass(frozen=True)
class PatternRow:
    """A concurrent case: the sum, and each direction's rate in the same rounds.

    With background load there is no sum: the value is the measured flow's, `beside` the load's.
    """

    cell: Result
    directions: tuple[tuple[str, float], ...]  # path, bytes/s
    whole: float | None  # sum of the flows in bytes/s, timed from the gate to the last end
    beside: float | None = None  # bytes/s


def patterns(found: Sequence[Result], size_bytes: int | None = None) -> list[PatternRow]:
    """Returns concurrent cases at their largest size, ordered by pattern, interface and path."""
    rows = []
    kinds = list(PAIR_KINDS)
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


def _whole(cell: Result) -> float | None:
    """Returns the sum from the gate to the last end, in the rounds of the value."""
    sums = [sum((record.end_to_end_bytes_per_s or {}).values()) for record in cell.middle]
    return fmean(sums) or None


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


def tables(run: RecordedRun, size_bytes: int | None = None) -> Tables:
    """Returns all tables, at the largest size of each or at `size_bytes`."""
    index = Index.of(run)
    found, records = index.cells, index.records
    below = below_the_best(found)
    common = [
        cell
        for cell in found
        if cell.record.interface not in WITH_OWN_TABLES and cell.record.case_id not in below
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
        best_map(index),
        index.warning_groups,
        of_equal_devices(not_measured(records)),
    )
