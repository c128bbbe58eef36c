"""Memory movement by pages: prefetch, migration on demand and zero-copy, beside what does not move pages."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.pages import WAYS, Compared, compared
from byteways.analyse.selection import KINDS
from byteways.analyse.summary import Cell, Group, Run, group_by
from byteways.analyse.topic import Line, Plot, PlotPoint, Table, Topic
from byteways.units import format_bandwidth, format_size

EXPLICIT = "pages that stay"
UNKNOWN = "nobody can tell"
#: In place of a figure that was not measured; a column of nothing else is left out.
NONE = "–"


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """None when no case moved or reached managed pages."""
    rows = compared(run.topology, found)
    if not rows:
        return None
    places = list(group_by(rows, lambda one: (one.kind, one.wires)).values())
    return Topic(
        "pages",
        "Memory movement by pages",
        "Managed pages can be sent for (prefetch), come when they are touched (on demand), or be reached "
        "where they are (zero-copy). Beside them stands the fastest interface between memories whose pages "
        "stay. Where pages went was asked of the system, not assumed.",
        tuple(_table(sizes) for sizes in places),
        tuple(_plot(sizes) for sizes in places if len(sizes) > 1),
    )


def _title(one: Compared) -> str:
    return f"{KINDS[one.kind]}, {one.wires}" if one.wires else KINDS[one.kind]


def _said(group: Group | None) -> str:
    if group is None:
        return NONE
    doubts = sorted({word for cell in group.cells for word in cell.doubts})
    return format_bandwidth(group.value) + (f" ({', '.join(doubts)})" if doubts else "")


def _figure(group: Group | None) -> str:
    """GB/s, with a star where there are doubts."""
    if group is None:
        return NONE
    doubted = any(cell.doubts for cell in group.cells)
    return format_bandwidth(group.value).removesuffix(" GB/s") + "*" * doubted


def _table(sizes: Sequence[Compared]) -> Table:
    rows = [
        (
            format_size(one.size_bytes),
            *(_figure(one.ways.get(name)) for name in WAYS),
            _figure(one.explicit),
            one.explicit.cells[0].record.interface if one.explicit else NONE,
            f"{one.slow_down:.3g}" if one.slow_down else NONE,
            _moved(one),
        )
        for one in sizes
    ]
    headings = (
        *("size", *(f"{name}, GB/s" for name in WAYS), f"{EXPLICIT}, GB/s", "by"),
        *("prefetch takes, times", "moved on demand"),
    )
    told = [index for index in range(len(headings)) if any(row[index] != NONE for row in rows)]
    note = "Median over " + ", ".join(dict.fromkeys(path for one in sizes for path in one.paths)) + "."
    groups = [group for one in sizes for group in (*one.ways.values(), one.explicit) if group is not None]
    doubts = sorted({word for group in groups for cell in group.cells for word in cell.doubts})
    if doubts:
        note += f" * {', '.join(doubts)}."
    if any(row[-1] == UNKNOWN for row in rows):
        note += " Whether pages moved that were touched nobody can tell: 'on demand' is what was asked for."
    words = headings.index("by")
    return Table(
        _title(sizes[0]),
        tuple(headings[index] for index in told),
        tuple(tuple(row[index] for index in told) for row in rows),
        tuple(place for place, index in enumerate(told) if index != words),
        note,
    )


def _moved(one: Compared) -> str:
    """Bytes that an operation on demand moved, as seen; more than the size where pages are larger."""
    group = one.ways.get("on demand")
    told = {cell.record.migrated_bytes for cell in group.cells} if group is not None else set()
    if not told:
        return NONE
    return UNKNOWN if None in told else format_size(max(value or 0 for value in told))


def _plot(sizes: Sequence[Compared]) -> Plot:
    lines = []
    for name in (*WAYS, EXPLICIT):
        points = []
        for one in sizes:
            group = one.explicit if name == EXPLICIT else one.ways.get(name)
            if group is not None:
                said = f"{name}, {format_size(one.size_bytes)}: {_said(group)}"
                scaled = (group.value / 1e9, group.low / 1e9, group.high / 1e9)
                points.append(PlotPoint(one.size_bytes, *scaled, said))
        if points:
            lines.append(Line(name, tuple(points)))
    return Plot(
        _title(sizes[0]),
        "Bytes of one operation over its time, each size in regions of its own.",
        "bytes of one operation",
        "GB/s",
        tuple(lines),
        x_sizes=True,
        x_log=True,
        y_log=True,
    )
