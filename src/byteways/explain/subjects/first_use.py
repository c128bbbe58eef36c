"""The first message between two ranks beside later ones: what set-up and registration of memory cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from byteways.explain.display.table import Table
from byteways.explain.results.counting import listed
from byteways.explain.results.summary import Result, group_by
from byteways.explain.subjects.ranks import plain_us
from byteways.plan.interfaces import metric_of
from byteways.units import format_size

#: What may be new, and how the table says so.
NEW = {"memory": "buffers", "connection": "connection"}
NOTE = (
    "first: the first operation of a case, until the slowest rank completes it (a round trip, or a message "
    "with its acknowledgement); later: a round trip, or one of the messages in flight"
)
#: Kinds of operation, by the metric of the interface.
_KINDS = {"latency": "round trip", "bandwidth": "message"}


def tables(title: str, members: Sequence[Result]) -> Iterator[Table]:
    """Yields a table of first and later times, if a case began with something new."""
    rows = []
    by_size = group_by(members, lambda cell: (cell.record.size_bytes, _kind(cell), cell.record.pattern))
    for (size, kind, pattern), cells in sorted(by_size.items()):
        uses = [use for cell in cells for use in _first_uses(cell)]
        later = [cell for cell in cells if cell.time_ns is not None]
        if not uses or not later:
            continue
        first_ns = median(use["time_ns"] for use in uses)
        later_ns = median(cell.time_ns or 0.0 for cell in later)
        new = [said for name, said in NEW.items() if any(use.get(name) == "new" for use in uses)]
        rows.append(
            (format_size(size), f"{kind}, {pattern}", plain_us(first_ns), plain_us(later_ns), listed(new))
        )
    if rows:
        headings = ("size", "operation", "first, µs", "later, µs", "new")
        yield Table(f"{title}: first use", headings, tuple(rows), (0, 2, 3), (NOTE,))


def _kind(cell: Result) -> str:
    return _KINDS.get(metric_of(cell.record.interface), "call")


def _first_uses(cell: Result) -> list[dict[str, Any]]:
    """The first uses of the rounds that began with something new."""
    first_uses = [record.first_use for record in cell.records if record.first_use]
    return [use for use in first_uses if "new" in (use.get("memory"), use.get("connection"))]
