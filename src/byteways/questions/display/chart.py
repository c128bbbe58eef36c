"""A chart as plain data. The page draws all charts alike (assets/chart.js): a new one needs no code there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from byteways.base.text import Sentence

#: Part of a row or column that the bars of one place take together.
FILLED = 0.8
#: Axes of ratios go this far from 1 at least.
LEAST_REACH = 1.3
#: Colours of series that are not in the palette.
INK, SOFT = -2, -1


@dataclass(frozen=True)
class Axis:
    """`scale` is `linear` or `log`; an axis of `names` has them at 0, 1, 2 …

    `unit` says how ticks are written: `bytes` (4 KiB), `ns` (20 µs), `count` (swept values) or as numbers. An
    axis of ratios goes from 1 / `reach` to `reach`; what lies beyond is drawn at its end.
    """

    label: Sentence = ""
    scale: str = "linear"
    unit: str = ""
    names: tuple[str, ...] = ()
    reach: float = 0.0


@dataclass(frozen=True)
class Point:
    """A value in the units of the axes. `low` to `high` is its interval, or a published range.

    `text` is the tooltip, `label` is written beside the point. Open marks are published, or not significant.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    text: Sentence = ""
    label: Sentence = ""
    open: bool = False


@dataclass(frozen=True)
class Series:
    """`kind`: a line with a band of intervals (default), `points`, `bars`, or `cells` with labels inside.

    Without `colour` and `symbol`, these and the dashes follow from the place among the series of the chart.
    A series with a `group` has no entry in the legend: it belongs to the series of that label.
    """

    label: str
    points: tuple[Point, ...]
    kind: str = ""
    colour: int | None = None
    dash: str = ""  # solid, dashed, dotted; bars that are not solid are hatched
    symbol: str = ""  # circle, square, …; none
    group: str = ""
    width: float = 0.0  # of a bar, in steps of the names


@dataclass(frozen=True)
class ReferenceLine:
    """A line across the plot at a value: a peak, or the size of a cache."""

    label: Sentence
    at: float


@dataclass(frozen=True)
class Panel:
    """Series below the plot, on the same axis of x."""

    y: Axis
    series: tuple[Series, ...]
    levels: tuple[ReferenceLine, ...] = ()
    band: tuple[float, float] | None = None


@dataclass(frozen=True)
class Chart:
    """`levels` are values of y, `marks` of x."""

    title: Sentence
    caption: Sentence
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    levels: tuple[ReferenceLine, ...] = ()
    marks: tuple[ReferenceLine, ...] = ()
    below: tuple[Panel, ...] = ()


#: Sizes of transfers on a logarithmic axis.
TRANSFER_SIZES = Axis("size of the transfer", "log", "bytes")


def in_rows(title: str, caption: str, values: Axis, rows: Sequence[str], series: Sequence[Series]) -> Chart:
    """Returns a chart with a row for each name, from top to bottom, and several bars of a row side by side.

    Args:
        title: Of the chart.
        caption: What to see.
        values: The axis of x.
        rows: Their names.
        series: Whose points have their row as `y`.
    """
    bars = [line for line in series if line.kind == "bars"]
    width = FILLED / max(len(bars), 1)
    placed = []
    for line in series:
        if line.kind == "bars":
            shift = (bars.index(line) - (len(bars) - 1) / 2) * width
            points = tuple(replace(point, y=point.y + shift) for point in line.points)
            line = replace(line, points=points, width=width)
        placed.append(line)
    return Chart(title, caption, values, Axis(names=tuple(rows)), tuple(placed))


def of_rows(points: Sequence[Point | None]) -> tuple[Point, ...]:
    """Returns the points with their places as rows; a row without a value has none."""
    return tuple(replace(point, y=row) for row, point in enumerate(points) if point is not None)


def ratio_axis(label: str, series: Sequence[Series], farthest: float = inf) -> Axis:
    """Returns a logarithmic axis around 1, as far as the ratios go, or to `farthest` if most are within."""
    values = [max(point.y, 1 / point.y) for line in series for point in line.points if point.y > 0]
    reach = max([*values, LEAST_REACH])
    if reach > farthest and 2 * sum(value <= farthest for value in values) > len(values):
        reach = farthest
    return Axis(label, "log", reach=reach)
