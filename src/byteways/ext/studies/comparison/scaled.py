"""A figure in the unit of its source's axis, where that is another than the one of its table."""

from __future__ import annotations

from dataclasses import replace

from byteways.ext.studies.comparison.outcome import FigureOutcome, StudySeries
from byteways.ext.studies.comparison.rows import ValueRow
from byteways.ext.studies.published.drawing import PER_GB


def in_drawn_unit(outcome: FigureOutcome) -> FigureOutcome:
    """Returns the figure with its values in the unit of its drawing; the figure itself if that is its own."""
    unit = outcome.figure.drawing.unit
    if not unit:
        return outcome
    factor = PER_GB[unit]
    return replace(
        outcome,
        figure=replace(outcome.figure, unit=unit),
        rows=tuple(_row(row, factor) for row in outcome.rows),
        series=tuple(_series(series, factor) for series in outcome.series),
    )


def _row(row: ValueRow, factor: float) -> ValueRow:
    ends = row.published_range
    return replace(
        row,
        published=None if row.published is None else row.published * factor,
        ours=None if row.ours is None else row.ours * factor,
        published_range=ends and (ends[0] * factor, ends[1] * factor),
    )


def _series(series: StudySeries, factor: float) -> StudySeries:
    return replace(
        series,
        ours=tuple((size, value * factor) for size, value in series.ours),
        published={
            system: tuple((size, value * factor) for size, value in points)
            for system, points in series.published.items()
        },
    )
