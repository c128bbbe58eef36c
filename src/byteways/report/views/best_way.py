"""The map of the best way: the fastest interface by size, kind of pair, link class and kind of host memory.

As Figure 17 of schieffer2025 has it for one machine.
"""

from __future__ import annotations

from byteways.answers.best.best_interfaces import map_by_memory
from byteways.answers.best.ranking import Ranking
from byteways.answers.best.wording_rankings import margin, tied_interfaces
from byteways.answers.claims.phrases import rate
from byteways.answers.claims.wording import NO_DIFFERENCE
from byteways.answers.results.index import Index
from byteways.base.units import format_size
from byteways.cases.interfaces import INTERFACES
from byteways.questions.display.chart import Axis, Chart, Point, Series

CAPTION = (
    "What to see: where the best interface changes with the size (to the right) or with the memory (down). "
    "Cold caches, one direction, each interface with its best settings; ≈ means "
    f"{NO_DIFFERENCE} from others. Each row ends with the kind of host memory."
)
#: Fewer sizes than that show no change.
LEAST_SIZES_DRAWN = 2


def charts(index: Index) -> list[Chart]:
    """Returns the map; none without a pair where interfaces can be compared."""
    best = map_by_memory(index)
    if best is None:
        return []
    places = {
        label: by_size
        for label, rankings in best.rows
        if len(
            by_size := {size: ranking for size, ranking in zip(best.sizes, rankings, strict=True) if ranking}
        )
        >= LEAST_SIZES_DRAWN
    }
    sizes = sorted({size for by_size in places.values() for size in by_size})
    if not places:
        return []
    cells: dict[str, list[Point]] = {}
    for row, (place, by_size) in enumerate(places.items()):
        for size, ranking in by_size.items():
            text = f"{place}, {format_size(size)}: {_details(ranking)}"
            point = Point(sizes.index(size), row, text=text, label=_short(ranking))
            cells.setdefault(ranking.variant.interface, []).append(point)
    series = [Series(name, tuple(cells[name]), "cells") for name in INTERFACES if name in cells]
    x = Axis("size of the transfer", names=tuple(map(format_size, sizes)))
    y = Axis(names=tuple(places))
    return [Chart("Best interface by size, pair and memory", CAPTION, x, y, tuple(series))]


def _short(ranking: Ranking) -> str:
    return ranking.variant.interface + (" ≈" if tied_interfaces(ranking) else "")


def _details(ranking: Ranking) -> str:
    tied = tied_interfaces(ranking)
    text = f"{ranking.variant.name}, {rate(ranking.group)} GB/s"
    return text + (f"; {margin(ranking)}" if tied else "")
