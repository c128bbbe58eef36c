"""Charts: curves over sizes as the page draws them itself, all others as Plotly JSON.

The page supplies colours and fonts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from statistics import median
from typing import Any

from byteways.explain.display.curves import CacheMark, CurveSeries, Family, Point, Scaling
from byteways.explain.display.topic import Plot
from byteways.report.axes import count_axis, log_axis, size_axis
from byteways.units import format_bandwidth, format_size

#: Line styles, so that lines differ without colour, too.
PLOTLY_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x", "star", "triangle-down")
#: Lines across a bar, which tell it apart without colour.
HATCH = {"shape": "/", "size": 6, "solidity": 0.25}
#: A peak this many times the greatest value is not drawn: it would flatten all curves.
FAR_PEAK = 4.0
#: The name of a hub in the title of a scaling, and what hubs are called together.
_HUB = re.compile(r"\b(gpu|cpu)\d+\b")
HUBS = {"gpu": "GPU", "cpu": "NUMA domain"}
#: Lines of a small chart that are named at their ends.
MOST_DIRECT = 4


@dataclass(frozen=True)
class Chart:
    """`figure` is {"lines": …, "sizes": …, "names": …} for assets/curve.js, or {"data": …, "layout": …} for
    Plotly, where a trace's `colour` is an index into the page's palette.
    """

    title: str
    caption: str
    figure: dict[str, Any]


def plain(text: str) -> str:
    """Escapes the markup that Plotly recognises in labels."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(value: float) -> float:
    """Rounds to five significant digits, the visible precision."""
    return float(f"{value:.5g}")


def _traces(
    series: CurveSeries, index: int, scale: float, x_text: Sequence[str], unit: str
) -> list[dict[str, Any]]:
    """Returns a line with its band: the interval, or the median of intervals if pairs are pooled."""
    xs = [point.x for point in series.points]
    low = [short(point.low / scale) for point in series.points]
    high = [short(point.high / scale) for point in series.points]
    name = plain(series.label)
    band = {
        "x": xs + xs[::-1],
        "y": high + low[::-1],
        "fill": "toself",
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": str(index),
        "band": True,
        "colour": index,
    }
    line = {
        "x": xs,
        "y": [short(point.value / scale) for point in series.points],
        "name": name,
        "mode": "lines+markers",
        "line": {"dash": PLOTLY_DASHES[index % len(PLOTLY_DASHES)], "width": 2},
        "marker": {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 7},
        "legendgroup": str(index),
        "colour": index,
        "text": [
            f"{text}: {short(point.value / scale):g} {unit} ({bottom:g}–{top:g})"
            for text, point, bottom, top in zip(x_text, series.points, low, high, strict=True)
        ],
        "hovertemplate": "%{text}<extra>" + name + "</extra>",
    }
    return [band, line]


def over_size(family: Family) -> Chart:
    """Bandwidth over size with the nominal peak as a line: data of assets/curve.js, rates in GB/s."""
    chosen = _fastest(family)
    sizes = sorted({round(point.x) for series in chosen for point in series.points})
    figure: dict[str, Any] = {
        "lines": [_curve(series) for series in chosen],
        "sizes": sizes,
        "names": [format_size(size) for size in sizes],
    }
    caption = []
    if family.peak:
        nominal = format_bandwidth(family.peak)
        greatest = max(point.value for series in family.series for point in series.points)
        if family.peak <= FAR_PEAK * greatest:
            figure["levels"] = [{"at": family.peak / 1e9, "name": f"peak {nominal}"}]
        else:
            caption.append(f"The nominal peak, {nominal} per direction, is far above.")
    if len(chosen) < len(family.series):
        caption.append(
            f"{len(chosen)} of {len(family.series)} ways, chosen by their figure at the largest size."
        )
    return Chart(family.title, " ".join(caption), figure)


def _fastest(family: Family) -> list[CurveSeries]:
    """Returns as many series as can be labelled directly, those highest at their largest size."""
    ranked = sorted(family.series, key=lambda series: -series.points[-1].value)[:MOST_DIRECT]
    return [series for series in family.series if series in ranked]


def _curve(series: CurveSeries) -> dict[str, Any]:
    return {
        "label": series.label,
        "x": [round(point.x) for point in series.points],
        "y": [short(point.value / 1e9) for point in series.points],
        "low": [short(point.low / 1e9) for point in series.points],
        "high": [short(point.high / 1e9) for point in series.points],
    }


def _level(y: float) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": y,
        "y1": y,
        "line": {"dash": "dot", "width": 1},
    }


def _level_label(y: float, text: str) -> dict[str, Any]:
    place = {"xref": "paper", "x": 0.01, "xanchor": "left", "y": y, "yanchor": "bottom", "showarrow": False}
    return {"text": text, **place}


def over_flows(hub: str, scalings: Sequence[Scaling]) -> Chart:
    """Charts sums over the number of concurrent flows, with the multiple of one flow for comparison."""
    shown = scalings if len(scalings) <= len(SYMBOLS) else _over_hubs(scalings)
    data: list[dict[str, Any]] = []
    for index, scaling in enumerate(shown):
        text = [f"{point.x} concurrent" for point in scaling.points]
        data += _traces(CurveSeries(scaling.title, scaling.points), index, 1e9, text, "GB/s")
    widest = max(point.x for scaling in scalings for point in scaling.points)
    single = {scaling.points[0].value / 1e9 for scaling in scalings if scaling.points[0].x == 1}
    if single:
        per_flow = max(single)
        data.append(
            {
                "x": [1, widest],
                "y": [short(per_flow), short(per_flow * widest)],
                "name": "multiples of one flow alone",
                "mode": "lines",
                "line": {"dash": "dot", "width": 1},
                "hoverinfo": "skip",
                "colour": -1,
            }
        )
    layout = {
        "xaxis": {"title": {"text": "concurrent flows"}, "dtick": 1},
        "yaxis": {"title": {"text": "GB/s in total"}, "rangemode": "tozero"},
    }
    sizes = sorted({scaling.size_bytes for scaling in scalings})
    caption = (
        f"Sum over all flows in their common window, {', '.join(map(format_size, sizes))} each. A line "
        "that falls below the dotted one has reached a shared bottleneck."
    )
    if shown != scalings:
        caption += " A line is the median over its hubs, its band their range."
    return Chart(
        f"Sum over the number of flows, to and from {hub}", caption, {"data": data, "layout": layout}
    )


def _over_hubs(scalings: Sequence[Scaling]) -> list[Scaling]:
    """Returns one scaling for all hubs of a kind: medians, over the range of their intervals."""
    alike: dict[tuple[str, int], list[Scaling]] = {}
    for scaling in scalings:
        title = _HUB.sub(lambda hub: f"one {HUBS[hub[1]]}", scaling.title, count=1)
        alike.setdefault((title, scaling.size_bytes), []).append(scaling)
    found = []
    for (title, size), members in sorted(alike.items()):
        at = [{point.x: point for point in one.points} for one in members]
        points = [[one[x] for one in at] for x in sorted(at[0]) if all(x in one for one in at)]
        pooled = tuple(
            Point(
                some[0].x,
                median(point.value for point in some),
                min(point.low for point in some),
                max(point.high for point in some),
                sum(point.cells for point in some),
            )
            for some in points
        )
        if pooled:
            found.append(Scaling(title, size, pooled))
    return found


def over_working_set(family: Family, marks: Sequence[CacheMark]) -> Chart:
    """Charts latency over working set, both logarithmic, with cache sizes marked."""
    sizes = [round(point.x) for series in family.series for point in series.points]
    data: list[dict[str, Any]] = []
    for index, series in enumerate(family.series):
        data += _traces(series, index, 1.0, [format_size(round(point.x)) for point in series.points], "ns")
    inside = [mark for mark in marks if min(sizes) < mark.size_bytes < max(sizes)]
    layout: dict[str, Any] = {
        "xaxis": size_axis(sizes, "working set"),
        "yaxis": log_axis(
            [point.value for series in family.series for point in series.points], "ns per load, logarithmic"
        ),
        "shapes": [
            {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": mark.size_bytes, "x1": mark.size_bytes}
            | {"line": {"dash": "dot", "width": 1}}
            for mark in inside
        ],
        "annotations": [
            # Plotly places annotations on a logarithmic axis by the logarithm.
            {"x": _log10(mark.size_bytes), "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
            | {"text": plain(f"{mark.label} {format_size(mark.size_bytes)}"), "yshift": 14 * (index % 2)}
            for index, mark in enumerate(inside)
        ],
    }
    caption = "One dependent load along a random cycle; the band is the 95 % interval."
    if inside:
        caption += " Dotted lines: cache sizes of the executors."
    return Chart(family.title, caption, {"data": data, "layout": layout})


def of_plot(plot: Plot) -> Chart:
    """Charts any plot of a topic. Published values are markers without a line."""
    data: list[dict[str, Any]] = []
    for index, line in enumerate(plot.lines):
        points = tuple(Point(point.x, point.y, point.low, point.high, 1) for point in line.points)
        band, trace = _traces(CurveSeries(line.label, points), index, 1.0, [""] * len(points), "")
        trace["text"] = [plain(point.text) for point in line.points]
        if line.published:
            data.append(
                {**trace, "mode": "markers", "marker": {**trace["marker"], "size": 10, "opacity": 0.7}}
            )
        else:
            data += [band, trace]
    xs = [point.x for line in plot.lines for point in line.points]
    x_axis: dict[str, Any] = {"title": {"text": plot.x_label}}
    if plot.x_sizes and xs:
        x_axis = size_axis([round(x) for x in xs], plot.x_label)
    elif plot.x_log and xs:
        x_axis = count_axis(xs, plot.x_label)
    y_axis: dict[str, Any] = {"title": {"text": plot.y_label}, "rangemode": "tozero"}
    if plot.y_log:
        ys = [point.y for line in plot.lines for point in line.points]
        y_axis = log_axis(ys, f"{plot.y_label}, logarithmic")
    across = [mark for mark in plot.places if xs and min(xs) < mark.at < max(xs)]
    annotations = [_level_label(_placed(mark.at, plot.y_log), plain(mark.label)) for mark in plot.levels] + [
        _place_label(_placed(mark.at, plot.x_log or plot.x_sizes), mark.label) for mark in across
    ]
    shapes = [_level(mark.at) for mark in plot.levels] + [_place(mark.at) for mark in across]
    layout = {"xaxis": x_axis, "yaxis": y_axis, "shapes": shapes, "annotations": annotations}
    return Chart(plot.title, plot.caption, {"data": data, "layout": layout})


def _placed(value: float, logarithmic: bool) -> float:
    """Returns an annotation's coordinate: its logarithm on a logarithmic axis."""
    return round(log10(value), 4) if logarithmic else value


def _place(x: float) -> dict[str, Any]:
    line = {"dash": "dot", "width": 1}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": line}


def _place_label(x: float, text: str) -> dict[str, Any]:
    place = {"x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    return {**place, "text": plain(text)}


def _log10(value: int) -> float:
    return round(log10(value), 4)
