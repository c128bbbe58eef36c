"""First touch at a glance: bandwidth by memory and by the device that wrote the pages first."""

from __future__ import annotations

from collections.abc import Iterable

from byteways.explain.claims.phrases import gb
from byteways.explain.display.chart import Axis, Chart, Point, Series, in_rows, of_rows
from byteways.explain.display.grids import first_touch_tables
from byteways.explain.display.table import TableResult
from byteways.explain.results.index import Index
from byteways.explain.results.summary import group_by
from byteways.units import format_size

CAPTION = (
    "What to see: rows whose bars differ, where placement by the first touch decides. A row is a transfer "
    "and the memory of its host buffer, a colour the device that touched its pages first."
)


def charts(index: Index) -> list[Chart]:
    """Returns a chart for each set of devices that touched first; none where nothing can be compared."""
    drawn = []
    tables = first_touch_tables(index.cells)
    for touchers, alike in group_by(tables, lambda table: table.headings[1:]).items():
        rows = [
            (label, results)
            for table in alike
            for (label, *_), (_, *results) in zip(table.rows, table.results, strict=True)
            if sum(map(bool, results)) > 1
        ]
        if not rows:
            continue
        series = [
            Series(f"first touch by {name}", of_rows([_bar(results[place]) for _, results in rows]), "bars")
            for place, name in enumerate(touchers)
        ]
        labels = [f"{_transfer(results)}, {memory}" for memory, results in rows]
        title = f"Memory and first touch by {', '.join(touchers)}"
        drawn.append(in_rows(title, CAPTION, Axis("GB/s"), labels, series))
    return drawn


def _transfer(results: Iterable[TableResult | None]) -> str:
    cell = next(result.result for result in results if result)
    record = cell.record
    return f"{cell.variant.label(memory=False)}, {record.path}, {format_size(record.size_bytes)}"


def _bar(shown: TableResult | None) -> Point | None:
    if shown is None:
        return None
    cell = shown.result
    details = f"{cell.record.path}: {gb(cell.value)} GB/s ({gb(cell.low)}–{gb(cell.high)})"
    return Point(cell.value / 1e9, 0, cell.low / 1e9, cell.high / 1e9, details, gb(cell.value))
