"""Energy per gigabyte, by the devices' own counters."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.energy import energies
from byteways.analyse.summary import Cell, Run
from byteways.analyse.topic import Table, Topic
from byteways.analyse.words import describe
from byteways.units import format_size

LEAD = (
    "What moving a gigabyte takes, from the energy counters of the devices at its ends: the operations went "
    "on for two seconds and twenty steps of every counter, and what the same devices take when idle is "
    "subtracted. Of STREAM kernels a gigabyte is one that is read or written, of others one that arrives. "
    "Devices without a counter are not in it: those are named."
)


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run with cases whose energy was asked for; None of any other."""
    asked = [cell for cell in found if any(record.energy for record in cell.records)]
    if not asked:
        return None
    measured = energies(asked)
    headings = ("case", "size", "J/GB", "W", "idle, W", "GB/s", "seconds", "steps", "counted", "not counted")
    rows = tuple(
        (
            describe(one.cell.record),
            format_size(one.cell.record.size_bytes),
            f"{one.joules_per_gb:.3g}",
            f"{one.watts:.4g}",
            f"{one.idle_watts:.4g}",
            f"{one.bytes_per_s / 1e9:.4g}",
            f"{one.duration_s:.2g}",
            str(one.updates),
            ", ".join(one.counted),
            ", ".join(one.not_counted),
        )
        for one in measured
    )
    tables = [Table("", headings, rows, tuple(range(1, 8)))] if rows else []
    reasons = dict.fromkeys(
        str(record.energy["reason"])
        for cell in asked
        for record in cell.records
        if record.energy and "reason" in record.energy
    )
    if reasons:
        cases = [
            sum(
                any((record.energy or {}).get("reason") == reason for record in cell.records)
                for cell in asked
            )
            for reason in reasons
        ]
        listed = tuple((reason, str(count)) for reason, count in zip(reasons, cases, strict=True))
        tables.append(Table("No energy, and why", ("reason", "cases"), listed, (1,)))
    return Topic("energy", "Energy", LEAD, tuple(tables))
