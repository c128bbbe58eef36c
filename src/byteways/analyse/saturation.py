"""How many blocks of a kernel it takes to fill a link or a memory.

A sweep over the option `blocks` is one curve: equal in everything else. It counts as full from the least
number of blocks whose figure lies within 5 % of the curve's best.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from byteways.analyse.selection import variant
from byteways.analyse.summary import Cell, Variant, group_by
from byteways.plan.interfaces import counts_as_stream, figure_of
from byteways.topology.model import Topology

#: A figure within this part of the best counts as full.
WITHIN = 0.05
#: A curve has at least so many counts of blocks.
LEAST_COUNTS = 3


@dataclass(frozen=True)
class Saturation:
    """One curve over blocks, on one path.

    Attributes:
        interface: What moves the bytes.
        path: From where to where.
        executor: Whose blocks they are.
        points: Blocks and the figure with them (bytes/s in the interface's own count), by blocks.
        multiprocessors: SMs or CUs of the executor; None when the machine does not tell.
    """

    variant: Variant  # with the options but `blocks`
    path: str
    executor: str
    size_bytes: int
    points: tuple[tuple[int, Cell], ...]
    multiprocessors: int | None

    @property
    def interface(self) -> str:
        return self.variant.interface

    @property
    def best(self) -> tuple[int, Cell]:
        """The greatest figure and the blocks that gave it."""
        return max(self.points, key=lambda point: point[1].value)

    @property
    def enough(self) -> tuple[int, Cell]:
        """The least number of blocks within 5 % of the best, and the figure there."""
        least = (1 - WITHIN) * self.best[1].value
        return next(point for point in self.points if point[1].value >= least)

    @property
    def full(self) -> bool:
        """Whether more blocks than are enough were tried: else the curve may go on rising."""
        return self.enough[0] < self.points[-1][0]

    @property
    def read_write(self) -> bool:
        """Whether the figures count every array, as STREAM does."""
        return counts_as_stream(self.interface)


#: What the points of one curve share, and blocks with the figure they gave, ascending.
Curves = dict[tuple[Variant, str, str, int, str], list[tuple[int, Cell]]]


def saturations(found: Iterable[Cell], topology: Topology) -> list[Saturation]:
    """Every curve over blocks that has enough points, in order of first appearance."""
    curves = []
    for (same, path, executor, size, _), points in _curves(found).items():
        known = executor in topology.names()
        processors = topology.agent(executor).multiprocessors if known else None
        curves.append(Saturation(same, path, executor, size, tuple(points), processors))
    return curves


def below_the_best(found: Iterable[Cell]) -> set[str]:
    """Ids of the cases that stand in a curve over blocks and are not the best of it: curves show them, and in
    a table beside other interfaces they would only be in the way.
    """
    below: set[str] = set()
    for points in _curves(found).values():
        best = max(points, key=lambda point: point[1].value)
        below |= {cell.record.case_id for blocks, cell in points if blocks != best[0]}
    return below


def _curves(found: Iterable[Cell]) -> Curves:
    swept = [
        cell
        for cell in found
        if "blocks" in cell.record.options
        and cell.record.pattern == "unidirectional"
        and figure_of(cell.record.interface) == "bandwidth"
    ]
    curves: Curves = {}
    for same, members in group_by(swept, _curve).items():
        if len(members) >= LEAST_COUNTS:
            points = ((int(cell.record.options["blocks"]), cell) for cell in members)
            curves[same] = sorted(points, key=lambda point: point[0])
    return curves


def _curve(cell: Cell) -> tuple[Variant, str, str, int, str]:
    record = cell.record
    others = {name: value for name, value in record.options.items() if name != "blocks"}
    options = " ".join(f"{name}={value}" for name, value in sorted(others.items()))
    same = replace(variant(cell), options=options)
    return same, record.path, record.executor, record.size_bytes, str(record.flows[0].get("second_source"))
