"""How operations reach the device: single calls, one graph, one batched call, side by side over sizes."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.submission import Submission, host_ns, submissions
from byteways.analyse.summary import Cell, Run
from byteways.analyse.topic import Table, Topic
from byteways.units import format_bandwidth, format_size, three_digits


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """None where nothing was submitted in two ways."""
    tables = [_table(one) for one in submissions(found)]
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


def _table(one: Submission) -> Table:
    record, ways = one.first.record, one.ways
    rows = [
        (
            format_size(size),
            *(_rate(at.get(way)) for way in ways),
            *(_host_ns(at.get(way)) for way in ways),
        )
        for size, at in one.sizes
    ]
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
    told = None if cell is None else host_ns(cell)
    return "" if told is None else three_digits(told)
