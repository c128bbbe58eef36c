"""How operations reach the device: single calls, one graph, one batched call, side by side over sizes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.topic import Table, Topic
from byteways.units import format_bandwidth, format_size

WAYS = ("calls", "graph", "batch")


def submitted(found: Sequence[Cell]) -> list[Cell]:
    """One-way transfers of cases that say how they are submitted, cold."""
    return [
        cell
        for cell in found
        if "submit" in cell.record.options
        and cell.record.pattern == "one-way"
        and cell.record.cache == "cold"
    ]


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """None where nothing was submitted in two ways."""
    cells = submitted(found)
    lines = group_by(
        cells,
        lambda cell: (
            cell.record.interface,
            cell.record.source,
            cell.record.destination,
            cell.record.access,
            len(cell.record.options),
        ),
    )
    tables = [
        _table(members)
        for members in lines.values()
        if len({cell.record.options["submit"] for cell in members}) > 1
    ]
    if not tables:
        return None
    return Topic(
        "submission",
        "Calls, graphs, batches",
        "The same operations handed to the device in different ways: a call each, recorded before and "
        "launched as one graph, or by one batched copy call. Rates are the device's, behind the gate; the "
        "host's time is what enqueueing took for each operation, after graphs were made ready.",
        tuple(tables),
    )


def _table(members: Sequence[Cell]) -> Table:
    record = members[0].record
    ways = [way for way in WAYS if any(cell.record.options["submit"] == way for cell in members)]
    rows = []
    for size, some in sorted(group_by(members, lambda cell: cell.record.size_bytes).items()):
        at = {str(cell.record.options["submit"]): cell for cell in some}
        rates = [_rate(at.get(way)) for way in ways]
        rows.append((format_size(size), *rates, *(_host_ns(at.get(way)) for way in ways)))
    headings = ("size", *(f"{way}, GB/s" for way in ways), *(f"{way}, host ns" for way in ways))
    return Table(
        f"{record.interface}, {record.source} > {record.destination}, {record.access}",
        headings,
        tuple(rows),
        tuple(range(len(headings))),
    )


def _rate(cell: Cell | None) -> str:
    return "" if cell is None else format_bandwidth(cell.value).removesuffix(" GB/s")


def _host_ns(cell: Cell | None) -> str:
    told = [] if cell is None else [record.submit_ns for record in cell.records if record.submit_ns]
    return f"{median(told):.0f}" if told else ""
