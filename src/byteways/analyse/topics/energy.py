"""Energy per gigabyte, by the devices' own counters."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.energy import energies, unmeasured
from byteways.analyse.summary import Cell, Run
from byteways.analyse.topic import Table, Topic
from byteways.analyse.words import describe
from byteways.units import format_size, three_digits

LEAD = (
    "What moving a gigabyte takes, from the energy counters of the devices at its ends, less what the same "
    "devices take when idle. The operations went on until two seconds and twenty steps of every counter had "
    "passed, or ten seconds; how long it was, and how many steps, stands beside each figure. Of STREAM "
    "kernels a gigabyte is one that is read or written, of others one that arrives. Ends without a counter "
    "are not in the figure: they are named."
)


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run with cases whose energy was asked for; None of any other."""
    asked = [cell for cell in found if any(record.energy for record in cell.records)]
    if not asked:
        return None
    measured = energies(asked)
    headings = (
        *("case", "size", "J/GB", "95 % interval", "W", "idle, W", "GB/s", "seconds", "steps"),
        *("counted", "not counted"),
    )
    rows = tuple(
        (
            describe(one.cell.record),
            format_size(one.cell.record.size_bytes),
            three_digits(one.joules_per_gb),
            f"{three_digits(one.low)} to {three_digits(one.high)}",
            f"{one.watts:.0f}",
            f"{one.idle_watts:.0f}",
            three_digits(one.bytes_per_s / 1e9),
            f"{one.duration_s:.2g}",
            str(one.updates),
            ", ".join(one.counted),
            ", ".join(one.not_counted) or "–",
        )
        for one in measured
    )
    tables = [Table("", headings, rows, tuple(range(1, 9)))] if rows else []
    if reasons := unmeasured(asked):
        listed = tuple((each.reason, str(len(each.cells))) for each in reasons)
        tables.append(Table("No energy, and why", ("reason", "cases"), listed, (1,)))
    return Topic("energy", "Energy", LEAD, tuple(tables))
