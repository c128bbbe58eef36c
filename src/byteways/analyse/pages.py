"""Memory that moves by pages: prefetched, migrated when touched, or left and reached where it is.

What a case did is read from what was seen of its pages, and only where nobody could tell from what it asked
for. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byteways.analyse.selection import kind, link_class, unidirectional
from byteways.analyse.summary import Cell, Group, above, group_by, pool
from byteways.plan.case import is_managed
from byteways.plan.interfaces import INTERFACES, moves_pages
from byteways.topology.model import Topology

PREFETCH, ON_DEMAND, ZERO_COPY = "prefetch", "on demand", "zero-copy"
#: The ways, in the order of tables.
WAYS = (PREFETCH, ON_DEMAND, ZERO_COPY)


@dataclass(frozen=True)
class Compared:
    """One kind of pair over one class of links at one size: each way of pages, and what does not move them.

    `explicit` is the fastest interface between memories whose pages stay, on the same paths.
    """

    kind: str  # a key of selection.KINDS
    wires: str
    size_bytes: int
    ways: dict[str, Group]
    explicit: Group | None

    @property
    def paths(self) -> list[str]:
        return list(dict.fromkeys(cell.record.path for group in self.ways.values() for cell in group.cells))

    @property
    def slow_down(self) -> float | None:
        """How many times as long a prefetch takes as the fastest interface; None where either is missing."""
        if PREFETCH not in self.ways or self.explicit is None:
            return None
        return self.explicit.value / self.ways[PREFETCH].value

    @property
    def fastest(self) -> str | None:
        """The way of pages that is faster than each of the others beyond doubt; None when none is."""
        for name, group in self.ways.items():
            if all(above(group, other) for rival, other in self.ways.items() if rival != name):
                return name
        return None


def way_of(cell: Cell) -> str | None:
    """How pages of the source came to the destination; None of cases that are not about that.

    A case whose pages are at the executor to begin with moves none and reaches none.
    """
    record = cell.record
    if moves_pages(record.interface):
        return PREFETCH
    by_touch = not INTERFACES[record.interface].by_call
    if not by_touch or not is_managed(cell.source.memory) or record.executor == cell.source.agent:
        return None
    if record.migrated_bytes is not None:
        return ON_DEMAND if record.migrated_bytes else ZERO_COPY
    return {"off": ZERO_COPY, "on-demand": ON_DEMAND}.get(str(record.options.get("migration")))


def compared(topology: Topology, found: Sequence[Cell]) -> list[Compared]:
    """Every kind of pair, class of links and size at which pages went a way, in order of first appearance."""
    singles = [cell for cell in unidirectional(found) if cell.record.cache == "cold"]
    ways = {id(cell): way for cell in singles if (way := way_of(cell)) is not None}
    moving = [cell for cell in singles if id(cell) in ways]
    places = group_by(moving, lambda cell: (kind(cell), link_class(topology, cell)))
    answer = []
    for (pair, wires), members in places.items():
        paths = {cell.record.path for cell in members}
        by_size = group_by(members, lambda cell: cell.record.size_bytes)
        for size in sorted(by_size):
            same = group_by(by_size[size], lambda cell: ways[id(cell)])
            settled = [
                cell
                for cell in singles
                if cell.stays and cell.record.size_bytes == size and cell.record.path in paths
            ]
            groups = {name: _fastest(same[name]) for name in WAYS if name in same}
            answer.append(Compared(pair, wires, size, groups, _fastest(settled) if settled else None))
    return answer


def _fastest(cells: Sequence[Cell]) -> Group:
    """Of what these cells differ in but for the pair, what is fastest."""
    groups = [pool(same) for same in group_by(cells, lambda cell: cell.variant).values()]
    return max(groups, key=lambda group: group.value)
