"""The first message between two ranks beside later ones: what set-up and registration of memory cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

from byteways.answers.results.counting import listed
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size
from byteways.cases.interfaces import metric_of
from byteways.questions.display.table import Columns, Table, figures, tabulated, words
from byteways.questions.subjects.ranks import plain_us

#: What may be new, and how the table says so.
NEW = {"memory": "buffers", "connection": "connection"}
NOTE = (
    "first: the first operation of a case, until the slowest rank completes it (a round trip, or a message "
    "with its acknowledgement); later: a round trip, or one of the messages in flight"
)
#: Kinds of operation, by the metric of the interface.
_KINDS = {"latency": "round trip", "bandwidth": "message"}


class _FirstUse(NamedTuple):
    size_bytes: int
    operation: str
    first_ns: float
    later_ns: float
    new: list[str]


def tables(title: str, members: Sequence[Result]) -> Iterator[Table]:
    """Yields a table of first and later times, if a case began with something new."""
    rows = []
    by_size = group_by(members, lambda cell: (cell.size_bytes, _kind(cell), cell.record.pattern))
    for (size, kind, pattern), cells in sorted(by_size.items()):
        uses = [use for cell in cells for use in _first_uses(cell)]
        later = [cell for cell in cells if cell.time_ns is not None]
        if not uses or not later:
            continue
        first_ns = median(use["time_ns"] for use in uses)
        later_ns = median(cell.time_ns or 0.0 for cell in later)
        new = [said for name, said in NEW.items() if any(use.get(name) == "new" for use in uses)]
        rows.append(_FirstUse(size, f"{kind}, {pattern}", first_ns, later_ns, new))
    if rows:
        columns: Columns[_FirstUse] = (
            figures("size", lambda one: format_size(one.size_bytes)),
            words("operation", lambda one: one.operation),
            figures("first, µs", lambda one: plain_us(one.first_ns)),
            figures("later, µs", lambda one: plain_us(one.later_ns)),
            words("new", lambda one: listed(one.new)),
        )
        yield tabulated(f"{title}: first use", columns, rows, NOTE)


def _kind(cell: Result) -> str:
    return _KINDS.get(metric_of(cell.record.interface), "call")


def _first_uses(cell: Result) -> list[dict[str, Any]]:
    """The first uses of the rounds that began with something new."""
    first_uses = [record.first_use for record in cell.records if record.first_use]
    return [use for use in first_uses if "new" in (use.get("memory"), use.get("connection"))]
