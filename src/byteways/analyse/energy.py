"""Energy per gigabyte of each case that was sustained for it, over its rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import median
from typing import Any

from byteways.analyse.summary import Cell, group_by


@dataclass(frozen=True)
class Energy:
    """Medians over the rounds of a case; `low`..`high` spans their 95 % intervals."""

    cell: Cell
    joules_per_gb: float
    low: float
    high: float
    watts: float
    idle_watts: float
    bytes_per_s: float
    duration_s: float
    updates: int
    counted: tuple[str, ...]
    not_counted: tuple[str, ...]


def energies(found: Sequence[Cell]) -> list[Energy]:
    """Of every case that has figures of energy, in order of first appearance."""
    measured = []
    for cell in found:
        fields = [record.energy for record in cell.records if record.energy and "reason" not in record.energy]
        if not fields:
            continue
        intervals = [_interval(field) for field in fields]
        costs = [float(field["joules_per_GB"]) for field in fields]
        measured.append(
            Energy(
                cell,
                median(costs),
                min(low for low, _ in intervals),
                max(high for _, high in intervals),
                median(float(field["watts"]) for field in fields),
                median(float(field["idle_watts"]) for field in fields),
                median(float(field["bytes_per_s"]) for field in fields),
                min(float(field["duration_s"]) for field in fields),
                min(int(field["counter_updates"]) for field in fields),
                tuple(fields[0]["counted"]),
                tuple(fields[0]["not_counted"]),
            )
        )
    return measured


def _interval(field: Mapping[str, Any]) -> tuple[float, float]:
    """Joules per GB; of older records, which have none, what it would be were the first and the last step of
    the counters each known to one step.
    """
    if "joules_per_GB_ci95" in field:
        low, high = field["joules_per_GB_ci95"]
        return float(low), float(high)
    cost, steps = float(field["joules_per_GB"]), max(int(field["counter_updates"]) - 1, 1)
    # The idle device was watched for as many steps at least.
    watts = hypot(float(field["watts"]), float(field["idle_watts"])) / steps
    half = watts / (float(field["bytes_per_s"]) / 1e9)
    return cost - half, cost + half


@dataclass(frozen=True)
class Unmeasured:
    """Why cases have no figure of energy."""

    reason: str
    cells: tuple[Cell, ...]


def unmeasured(found: Sequence[Cell]) -> list[Unmeasured]:
    """Reasons for energy that was asked for and that no round has, the most frequent first."""
    told = []
    for cell in found:
        asked = [record.energy for record in cell.records if record.energy]
        if asked and all("reason" in field for field in asked):
            told.append((str(asked[0]["reason"]), cell))
    reasons = group_by(told, lambda each: each[0])
    return sorted(
        (Unmeasured(reason, tuple(cell for _, cell in some)) for reason, some in reasons.items()),
        key=lambda each: -len(each.cells),
    )
