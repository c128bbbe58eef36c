"""The map of the best way: the fastest interface by size, kind of pair, link class and kind of host memory.

As Figure 17 of schieffer2025 has it for one machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from byteways.explain.best.ranking import Ranking, rank
from byteways.explain.best.wording_rankings import margin, tied_interfaces
from byteways.explain.claims.phrases import rate
from byteways.explain.claims.wording import NO_DIFFERENCE
from byteways.explain.display.chart import Axis, Chart, Point, Series
from byteways.explain.results.index import Index
from byteways.explain.results.selection import PAIR_KINDS, WITH_OWN_TABLES, kind, unidirectional
from byteways.explain.results.summary import Result, group_by
from byteways.plan.interfaces import INTERFACES
from byteways.units import format_size

CAPTION = (
    "What to see: where the best interface changes with the size (to the right) or with the memory (down). "
    "Cold caches, one direction, each interface with its best settings; ≈ means "
    f"{NO_DIFFERENCE} from others. The kind of host memory follows the pair."
)
#: Fewer sizes than that show no change.
LEAST_SIZES_DRAWN = 2


def charts(index: Index) -> list[Chart]:
    """Returns the map; none without a pair where interfaces can be compared."""
    places = _places(index)
    sizes = sorted({size for by_size in places.values() for size in by_size})
    if not places:
        return []
    cells: dict[str, list[Point]] = {}
    for row, (place, by_size) in enumerate(places.items()):
        for size, one in by_size.items():
            text = f"{place}, {format_size(size)}: {_details(one)}"
            point = Point(sizes.index(size), row, text=text, label=_short(one))
            cells.setdefault(one.variant.interface, []).append(point)
    series = [Series(name, tuple(cells[name]), "cells") for name in INTERFACES if name in cells]
    x = Axis("size of the transfer", names=tuple(map(format_size, sizes)))
    y = Axis(names=tuple(places))
    return [Chart("Best interface by size, pair and memory", CAPTION, x, y, tuple(series))]


def _places(index: Index) -> dict[str, dict[int, Ranking]]:
    """Returns rankings by label and size, of places where several interfaces can be told apart."""
    order = list(PAIR_KINDS)
    cells = [
        cell
        for cell in unidirectional(index.cells)
        if cell.stays
        and cell.ranked
        and cell.record.cache == "cold"
        and cell.record.interface not in WITH_OWN_TABLES
    ]
    groups = group_by(
        cells, lambda cell: (order.index(kind(cell)), index.link_class(cell), cell.variant.host_memory)
    )
    found = {}
    for (place, link_class, memory), members in sorted(groups.items()):
        by_size = {
            size: ranking
            for size, some in sorted(group_by(members, lambda cell: cell.record.size_bytes).items())
            if _several(some) and (ranking := rank(some))
        }
        if len(by_size) >= LEAST_SIZES_DRAWN:
            found[", ".join(part for part in (PAIR_KINDS[order[place]], link_class, memory) if part)] = (
                by_size
            )
    return found


def _several(members: Sequence[Result]) -> bool:
    return len({cell.record.interface for cell in members}) > 1


def _short(ranking: Ranking) -> str:
    return ranking.variant.interface + (" ≈" if tied_interfaces(ranking) else "")


def _details(ranking: Ranking) -> str:
    tied = tied_interfaces(ranking)
    told = f"{ranking.variant.label()}, {rate(ranking.group)} GB/s"
    return told + (f"; {margin(ranking)}" if tied else "")
