"""Rows that lie a pitch apart, by the vendor's call and by a packing kernel: a table for each pair."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.strided import Shape, shape_of, strided
from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.topic import Table, Topic
from byteways.units import format_bandwidth, format_size


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """None without such rows."""
    cells = strided(found)
    if not cells:
        return None
    ends = group_by(cells, lambda cell: (cell.record.source, cell.record.destination, cell.record.size_bytes))
    return Topic(
        "rows",
        "Strided copies",
        "Rows of a width that lie a pitch apart on one side or both. Figures count the rows, not the gaps, "
        "so a drop says what whole cache lines, or many small pieces, cost.",
        tuple(_table(members) for members in ends.values()),
    )


def _table(members: Sequence[Cell]) -> Table:
    record = members[0].record
    interfaces = sorted({cell.record.interface for cell in members})
    rows, heat = [], []
    greatest = max(cell.value for cell in members)
    shapes = group_by(members, shape_of)
    for shape in sorted(shapes, key=lambda each: (each.strided, each.width_bytes, each.pitch_bytes)):
        best = {
            name: max(some, key=lambda cell: cell.value)
            for name, some in group_by(shapes[shape], lambda cell: cell.record.interface).items()
        }
        rows.append((*_named(shape), *(_figure(best.get(name)) for name in interfaces)))
        heat.append((None, None, None, *(_share(best.get(name), greatest) for name in interfaces)))
    return Table(
        f"{record.source} > {record.destination}, {format_size(record.size_bytes)} of rows, GB/s",
        ("work", "width", "pitch", *interfaces),
        tuple(rows),
        (1, 2, *range(3, 3 + len(interfaces))),
        "A packed row is as wide as its pitch.",
        tuple(heat),
    )


def _named(shape: Shape) -> tuple[str, str, str]:
    return shape.work, format_size(shape.width_bytes), format_size(shape.pitch_bytes)


def _figure(cell: Cell | None) -> str:
    return "" if cell is None else format_bandwidth(cell.value).removesuffix(" GB/s")


def _share(cell: Cell | None, greatest: float) -> float | None:
    return None if cell is None else cell.value / greatest
