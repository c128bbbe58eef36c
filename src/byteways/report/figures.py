"""Values on the page and tables of them: formatted, shaded, with details as tooltips."""

from __future__ import annotations

from dataclasses import dataclass

from byteways.explain.display.grids import Grid
from byteways.explain.display.topic import TopicTable
from byteways.explain.results.case_names import describe
from byteways.explain.results.summary import Result
from byteways.report.numbers import METRIC_UNITS, cell_number, number, peaks_of, percent_number
from byteways.units import format_size

#: Shown instead of a percentage if the peak is unknown.
NO_PEAK = "–"


@dataclass(frozen=True)
class PageCell:
    """A value in a table: absolute and relative number, and tooltip."""

    absolute: str
    percent: str
    details: str
    warned: bool


@dataclass(frozen=True)
class ResultTable(TopicTable):
    """A table of results: `cells` has what the page says of each, by row without its label."""

    unit: str = ""
    cells: tuple[tuple[PageCell | None, ...], ...] = ()

    @property
    def has_peaks(self) -> bool:
        """Whether any value can be shown as percentage of a peak."""
        return any(cell is not None and cell.percent != NO_PEAK for row in self.cells for cell in row)


def result_table(grid: Grid) -> ResultTable:
    """Formats a grid; cells within one device are not shaded next to cells over links."""
    over_links = [cell for cell in grid.members() if cell.source.device != cell.destination.device]
    shaded = over_links if over_links and grid.quantity == "bandwidth" else grid.members()
    greatest = max((cell.value for cell in shaded), default=1.0)
    chosen = {cell.record.case_id for cell in shaded}
    notes = [note for note in (peaks_of(grid) if grid.quantity == "bandwidth" else "", grid.note) if note]
    cells = tuple(
        tuple(page_cell(cell, grid.quantity) if cell else None for cell in row.cells) for row in grid.rows
    )
    return ResultTable(
        grid.heading(),
        (grid.corner, *grid.columns),
        tuple(
            (row.label, *(cell.absolute if cell else "" for cell in shown))
            for row, shown in zip(grid.rows, cells, strict=True)
        ),
        tuple(range(1, len(grid.columns) + 1)),
        "; ".join(notes),
        tuple(
            (
                None,
                *(
                    cell.value / greatest if cell and cell.record.case_id in chosen else None
                    for cell in row.cells
                ),
            )
            for row in grid.rows
        ),
        unit=METRIC_UNITS[grid.quantity],
        cells=cells,
    )


def page_cell(cell: Result, quantity: str) -> PageCell:
    """Formats a value."""
    fraction = cell.fraction if quantity == "bandwidth" else None
    return PageCell(
        cell_number(cell, quantity),
        percent_number(fraction) if fraction is not None else NO_PEAK,
        _details(cell, quantity),
        bool(cell.warning_ids),
    )


def _details(cell: Result, quantity: str) -> str:
    """Returns the tooltip of a value, one fact per line."""
    record, unit = cell.record, METRIC_UNITS[quantity]
    lines = [describe(record)]
    low, high = number(cell.low, quantity), number(cell.high, quantity)
    kind = f"repeatability interval, {cell.rounds} rounds," if cell.rounds > 1 else "interval of one round,"
    unranked = "" if cell.ranked else "; too few rounds to be ranked"
    lines.append(f"{kind} {low} to {high} {unit}, n = {cell.samples}{unranked}")
    lines.append(f"executor {record.executor}, {format_size(record.size_bytes)}, cache {record.cache}")
    if record.engine:
        lines.append(f"engine {record.engine}: {record.engine_evidence or 'no evidence recorded'}")
    if record.timed_by:
        lines.append(f"timed by {record.timed_by}{', gated' if record.gated else ''}, batch {record.batch}")
    if record.peak_source:
        lines.append(f"peak: {record.peak_source}")
    if record.parts:
        parts = (f"{path} {percent_number(part)}" for path, part in record.parts.items())
        lines.append(f"parts: {', '.join(parts)}")
    if cell.warning_ids:
        lines.append(f"warnings: {', '.join(cell.warning_ids)}")
    return "\n".join(lines)
