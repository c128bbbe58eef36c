"""Rows that lie a pitch apart: the vendor's call beside a packing kernel, by width and pitch. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byteways.analyse.summary import Cell, above, group_by
from byteways.plan.rows import PITCH_BYTES, STRIDED, WIDTH_BYTES, moves_rows

#: How a table names what a side with a pitch means.
WORK = {"source": "packing", "destination": "unpacking", "both": "a part of a matrix"}


@dataclass(frozen=True)
class Shape:
    """What two interfaces do alike, so that their figures compare."""

    source: str
    destination: str
    size_bytes: int
    strided: str
    width_bytes: int
    pitch_bytes: int
    cache: str

    @property
    def work(self) -> str:
        return WORK[self.strided]


def shape_of(cell: Cell) -> Shape:
    record = cell.record
    options = record.options
    return Shape(
        record.source,
        record.destination,
        record.size_bytes,
        str(options.get("strided", STRIDED)),
        int(options.get("width_bytes", WIDTH_BYTES)),
        int(options.get("pitch_bytes", PITCH_BYTES)),
        record.cache,
    )


def strided(found: Sequence[Cell]) -> list[Cell]:
    """Unidirectional transfers of rows."""
    return [
        cell
        for cell in found
        if moves_rows(cell.record.interface) and cell.record.pattern == "unidirectional"
    ]


@dataclass(frozen=True)
class Rivals:
    """The same rows by two interfaces, the faster first; what they move is told apart by their intervals."""

    shape: Shape
    first: Cell
    second: Cell

    @property
    def factor(self) -> float:
        return self.first.value / self.second.value


def rivals(found: Sequence[Cell]) -> list[Rivals]:
    """Shapes that two interfaces were measured on and that tell them apart, best variant of each."""
    pairs = []
    for shape, members in group_by(strided(found), shape_of).items():
        best = {
            name: max(some, key=lambda cell: cell.value)
            for name, some in group_by(members, lambda cell: cell.record.interface).items()
        }
        ordered = sorted(best.values(), key=lambda cell: -cell.value)
        if len(ordered) > 1 and above(ordered[0], ordered[1]):
            pairs.append(Rivals(shape, ordered[0], ordered[1]))
    return pairs
