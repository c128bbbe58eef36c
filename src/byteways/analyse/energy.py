"""Energy per gigabyte of each case that was sustained for it, over its replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from byteways.analyse.summary import Cell


@dataclass(frozen=True)
class Energy:
    """Medians over the replicates of a case; `low`..`high` is their span."""

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
        costs = [float(field["joules_per_GB"]) for field in fields]
        measured.append(
            Energy(
                cell,
                median(costs),
                min(costs),
                max(costs),
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
