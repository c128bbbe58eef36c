"""Latency under load: nanoseconds of a dependent load over what others moved meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.loaded import LoadCurve, Walk, load_curves
from byteways.analyse.rules.facts import count
from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.topic import Line, Plot, PlotPoint, Table, Topic
from byteways.results.simulated import is_simulated
from byteways.units import three_digits

LEAD = (
    "Time of one dependent load while other flows run, over what those achieved in the same window. Where "
    "the curve turns up, requests wait for each other."
)
#: A flat simulated curve must not be taken for a prediction.
NO_QUEUES = (
    " On a machine model a load waits for others in the memory of GPUs and nowhere else: not in links, nor "
    "in the host's memory."
)


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run with chases beside loads; None of any other."""
    curves = load_curves(found)
    if not curves:
        return None
    walks = group_by((curve for curve in curves if curve.points), lambda curve: curve.walk)
    plots = tuple(_plot(walk, some) for walk, some in walks.items())
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
        idle = curve.idle
        alone = three_digits(idle.value) if idle else "not measured"
        if not curve.points:
            rows.append((curve.walk.label, curve.load, "0", alone, *["–"] * 5))
            continue
        first, last = curve.points[0], curve.points[-1]
        rows.append(
            (
                curve.walk.label,
                curve.load,
                str(len(curve.points)),
                alone,
                three_digits(first.load_bytes_per_s / 1e9),
                three_digits(first.cell.value),
                three_digits(last.load_bytes_per_s / 1e9),
                three_digits(last.cell.value),
                f"{last.cell.value / idle.value:.2f}" if idle else "–",
            )
        )
    apart = sum(curve.apart for curve in curves)
    note = (
        f"Without {count(apart, 'case')} in which walk and load had no window in common: there the one was "
        "not measured beside the other."
    )
    return Table("", headings, tuple(rows), tuple(range(2, len(headings))), note if apart else "")


def _plot(walk: Walk, curves: Sequence[LoadCurve]) -> Plot:
    lines = []
    for curve in curves:
        points = [_point(point.load_bytes_per_s, point.cell) for point in curve.points]
        if curve.idle is not None:
            points.insert(0, _point(0.0, curve.idle))
        lines.append(Line(curve.load, tuple(points)))
    return Plot(
        walk.label.replace(": ", " walks ", 1),
        "The point at 0 is the walk alone. Interval: 95 % of the median.",
        "achieved beside it, GB/s",
        "ns a load",
        tuple(lines),
    )


def _point(load_bytes_per_s: float, cell: Cell) -> PlotPoint:
    load = load_bytes_per_s / 1e9
    said = f"{cell.value:.4g} ns at {three_digits(load)} GB/s"
    return PlotPoint(load, cell.value, cell.low, cell.high, said)
