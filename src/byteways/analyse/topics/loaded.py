"""Latency under load: nanoseconds of a dependent load over what others moved meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.loaded import LoadCurve, load_curves
from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.topic import Line, Plot, PlotPoint, Table, Topic
from byteways.results.simulated import is_simulated
from byteways.units import format_size, three_digits

LEAD = (
    "Time of one dependent load while other flows run, over what those achieved in the same window. Where "
    "the curve turns up, requests wait for each other."
)
#: A simulated walk does not wait for others' requests, and a flat curve must not be taken for a prediction.
NO_QUEUES = (
    " Machine models have no queues in memory or links: simulated latencies do not rise with the load."
)


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run with chases beside loads; None of any other."""
    curves = load_curves(found)
    if not curves:
        return None
    walks = group_by(curves, lambda curve: (curve.walker, curve.memory, curve.size_bytes))
    plots = tuple(_plot(walker, memory, size, some) for (walker, memory, size), some in walks.items())
    lead = LEAD + (NO_QUEUES if is_simulated(run.manifest) else "")
    return Topic("loaded-latency", "Latency under load", lead, (_table(curves),), plots)


def _table(curves: Sequence[LoadCurve]) -> Table:
    headings = (
        "walk",
        "beside",
        "points",
        "idle, ns",
        "least load, GB/s",
        "ns",
        "most load, GB/s",
        "ns",
        "times idle",
    )
    rows = []
    for curve in curves:
        first, last = curve.points[0], curve.points[-1]
        idle = curve.idle
        rows.append(
            (
                f"{curve.walker}: {curve.memory}, {format_size(curve.size_bytes)}",
                curve.load,
                str(len(curve.points)),
                f"{idle.value:.4g}" if idle else "not measured",
                three_digits(first.load_bytes_per_s / 1e9),
                f"{first.cell.value:.4g}",
                three_digits(last.load_bytes_per_s / 1e9),
                f"{last.cell.value:.4g}",
                f"{last.cell.value / idle.value:.2f}" if idle else "",
            )
        )
    return Table("", headings, tuple(rows), tuple(range(2, len(headings))))


def _plot(walker: str, memory: str, size_bytes: int, curves: Sequence[LoadCurve]) -> Plot:
    lines = []
    for curve in curves:
        points = [_point(point.load_bytes_per_s, point.cell) for point in curve.points]
        if curve.idle is not None:
            points.insert(0, _point(0.0, curve.idle))
        lines.append(Line(curve.load, tuple(points)))
    return Plot(
        f"{walker} walks {memory}, {format_size(size_bytes)}",
        "The point at 0 is the walk alone. Interval: 95 % of the median.",
        "achieved beside it, GB/s",
        "ns a load",
        tuple(lines),
    )


def _point(load_bytes_per_s: float, cell: Cell) -> PlotPoint:
    load = load_bytes_per_s / 1e9
    said = f"{cell.value:.4g} ns at {three_digits(load)} GB/s"
    return PlotPoint(load, cell.value, cell.low, cell.high, said)
