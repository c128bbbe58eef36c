"""Operations handed to a device in different ways: a call each, one graph, one batched call. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from byteways.analyse.summary import Cell, group_by

WAYS = ("calls", "graph", "batch")


@dataclass(frozen=True)
class Submission:
    """One transfer that was submitted in several ways: cells by way, for each size in bytes, ascending."""

    sizes: tuple[tuple[int, dict[str, Cell]], ...]

    @property
    def first(self) -> Cell:
        """Any of its cells: they differ in size and way alone."""
        return next(iter(self.sizes[0][1].values()))

    @property
    def ways(self) -> list[str]:
        return [way for way in WAYS if any(way in at for _, at in self.sizes)]

    def beside_calls(self, way: str) -> list[tuple[int, Cell, Cell]]:
        """Sizes in bytes that were submitted both by calls and in this way, with both cells."""
        return [(size, at["calls"], at[way]) for size, at in self.sizes if "calls" in at and way in at]


def submissions(found: Sequence[Cell]) -> list[Submission]:
    """Unidirectional transfers from cold memory that were submitted in more than one way."""
    told = [
        cell
        for cell in found
        if "submit" in cell.record.options
        and cell.record.pattern == "unidirectional"
        and cell.record.cache == "cold"
    ]
    alike = group_by(told, _alike)
    made = []
    for members in alike.values():
        by_size = group_by(members, lambda cell: cell.record.size_bytes)
        sizes = [
            (size, {str(cell.record.options["submit"]): cell for cell in by_size[size]})
            for size in sorted(by_size)
        ]
        made.append(Submission(tuple(sizes)))
    return [one for one in made if len(one.ways) > 1]


def _alike(cell: Cell) -> tuple[str, ...]:
    record = cell.record
    rest = {name: value for name, value in record.options.items() if name != "submit"}
    settings = json.dumps([rest, record.environment], sort_keys=True)
    return record.interface, record.source, record.destination, record.access, settings


def host_ns(cell: Cell) -> float | None:
    """What enqueueing one operation takes the host; None where it was not told."""
    told = [record.submit_ns for record in cell.records if record.submit_ns]
    return median(told) if told else None
