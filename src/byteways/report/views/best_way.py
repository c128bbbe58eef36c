"""The map of the best way: the fastest interface by size, kind of pair, link class and kind of host memory.

As Figure 17 of schieffer2025 has it for one machine.
"""

from __future__ import annotations

from textwrap import wrap

from byteways.explain.best.best_interfaces import map_by_memory
from byteways.explain.best.ranking import Ranking
from byteways.explain.best.wording_rankings import margin, tied_interfaces
from byteways.explain.claims.phrases import rate
from byteways.explain.claims.wording import NO_DIFFERENCE
from byteways.explain.results.index import Index
from byteways.plan.interfaces import INTERFACES
from byteways.report.charts import Chart, plain
from byteways.units import format_size

CAPTION = (
    "What to see: where the best interface changes with the size (to the right) or with the memory (down). "
    "Cold caches, one direction, each interface with its best settings; ≈ means "
    f"{NO_DIFFERENCE} from others. The kind of host memory follows the pair."
)
#: Pixels of a row, letters of a line of its label and of a cell.
ROW_HEIGHT, ROW_LABEL_LETTERS, CELL_LETTERS = 38, 34, 11
#: Fewer sizes than that show no change.
LEAST_SIZES_DRAWN = 2


def charts(index: Index) -> list[Chart]:
    """Returns the map; none without a pair where interfaces can be compared."""
    found = map_by_memory(index)
    rows = [
        (label, rankings)
        for label, rankings in (found.rows if found else ())
        if sum(one is not None for one in rankings) >= LEAST_SIZES_DRAWN
    ]
    sizes = [
        size
        for column, size in enumerate(found.sizes if found else ())
        if any(rankings[column] for _, rankings in rows)
    ]
    if not found or not rows:
        return []
    places = [label for label, _ in rows]
    ranked = [[rankings[found.sizes.index(size)] for size in sizes] for _, rankings in rows]
    order = [
        name
        for name in INTERFACES
        if any(one and one.variant.interface == name for row in ranked for one in row)
    ]
    data = [
        {
            "type": "heatmap",
            "x": [format_size(size) for size in sizes],
            "y": ["<br>".join(map(plain, wrap(name, ROW_LABEL_LETTERS))) + " " for name in places],
            "z": [[order.index(one.variant.interface) if one else None for one in row] for row in ranked],
            "text": [
                ["<br>".join(map(plain, wrap(_short(one), CELL_LETTERS))) if one else "" for one in row]
                for row in ranked
            ],
            "texttemplate": "%{text}",
            "hovertext": [[plain(_details(one)) if one else "" for one in row] for row in ranked],
            "hovertemplate": "%{y}%{x}: %{hovertext}<extra></extra>",
            "hoverongaps": False,
            "showscale": False,
            "xgap": 3,
            "ygap": 3,
            "palette": len(order),
        }
    ]
    layout = {
        "xaxis": {
            "type": "category",
            "title": {"text": "size of the transfer"},
            "showgrid": False,
            "tickangle": 0,
        },
        "yaxis": {"type": "category", "autorange": "reversed", "showgrid": False},
    }
    return [
        Chart(
            "Best interface by size, pair and memory",
            CAPTION,
            {"data": data, "layout": layout, "rows": ROW_HEIGHT * len(places)},
        )
    ]


def _short(ranking: Ranking) -> str:
    return ranking.variant.interface + (" ≈" if tied_interfaces(ranking) else "")


def _details(ranking: Ranking) -> str:
    tied = tied_interfaces(ranking)
    told = f"{ranking.variant.label()}, {rate(ranking.group)} GB/s"
    return told + (f"; {margin(ranking)}" if tied else "")
