"""First touch at a glance: bandwidth by memory and by the device that wrote the pages first."""

from __future__ import annotations

from byteways.explain.claims.phrases import gb
from byteways.explain.display.chart import Axis, Chart, Point, Series, in_rows, of_rows
from byteways.explain.display.grids import Grid, first_touch_tables
from byteways.explain.results.index import Index
from byteways.explain.results.summary import Result, group_by
from byteways.units import format_size

CAPTION = (
    "What to see: rows whose bars differ, where placement by the first touch decides. A row is a transfer "
    "and the memory of its host buffer, a colour the device that touched its pages first."
)


def charts(index: Index) -> list[Chart]:
    """Returns a chart for each set of devices that touched first; none where nothing can be compared."""
    drawn = []
    for touchers, grids in group_by(first_touch_tables(index.cells), lambda grid: grid.columns).items():
        rows = [(grid, row) for grid in grids for row in grid.rows if sum(map(bool, row.cells)) > 1]
        if not rows:
            continue
        series = [
            Series(f"first touch by {name}", of_rows([_bar(row.cells[place]) for _, row in rows]), "bars")
            for place, name in enumerate(touchers)
        ]
        labels = [_label(grid, row.label) for grid, row in rows]
        title = f"Memory and first touch by {', '.join(touchers)}"
        drawn.append(in_rows(title, CAPTION, Axis("GB/s"), labels, series))
    return drawn


def _label(grid: Grid, memory: str) -> str:
    size = f", {format_size(grid.size_bytes)}" if grid.size_bytes else ""
    return f"{grid.title}{size}, {memory}"


def _bar(cell: Result | None) -> Point | None:
    if cell is None:
        return None
    details = f"{cell.record.path}: {gb(cell.value)} GB/s ({gb(cell.low)}–{gb(cell.high)})"
    return Point(cell.value / 1e9, 0, cell.low / 1e9, cell.high / 1e9, details, gb(cell.value))
