"""Charts of a study's figures: a colour for each method, open markers for published values, ratios below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import log10
from typing import Any

from byteways.explain.display.picture import BAND, Label, Panel, Picture, SeriesStroke, Spot
from byteways.report.axes import log_axis, size_axis
from byteways.report.charts import HATCH, SYMBOLS, Chart, plain, short

DASH = {"solid": "solid", "dashed": "dash", "dotted": "dot"}
#: Markers of published values, by system.
PUBLISHED = ("circle-open", "diamond-open", "square-open", "triangle-up-open")
#: Height of a panel of ratios and of the gap above it, as parts of the chart.
PANEL_HEIGHT, PANEL_GAP = 0.2, 0.07
#: Ticks of ratios, by how far they differ from 1 at most.
RATIO_TICKS = (
    (1.3, (0.8, 0.9, 1, 1.1, 1.25)),
    (2.1, (0.5, 0.8, 1, 1.25, 2)),
    (10.0, (0.1, 0.2, 0.5, 1, 2, 5, 10)),
    (float("inf"), (0.001, 0.01, 0.1, 1, 10, 100, 1000)),
)
#: Axes of ratios go this far from 1 at least …
LEAST_REACH = 1.3
#: … and no further than this, where most ratios are within: triangles at the edge stand for the others.
FARTHEST_RATIO = 2.0
#: More groups of bars have their names turned.
UPRIGHT = 6


def of_picture(picture: Picture) -> Chart:
    """Charts a figure of a study with its ratios below."""
    count = len(picture.below)
    height = 1 - count * (PANEL_HEIGHT + PANEL_GAP)
    systems = list(dict.fromkeys(system for stroke in picture.strokes for system in stroke.published))
    data = list(chain.from_iterable(_main(stroke, picture, systems) for stroke in picture.strokes))
    data += _legend(picture, systems)
    layout: dict[str, Any] = {
        "xaxis": {**_x_axis(picture), "anchor": f"y{count + 1}" if count else "y"},
        "yaxis": {**_y_axis(picture), "domain": [round(1 - height, 3), 1]},
        "shapes": [_across(level) for level in picture.levels] + [_down(mark) for mark in picture.marks],
        "annotations": list(_annotations(picture)),
        "panels": count,
        "bargap": 0,
    }
    for number, panel in enumerate(picture.below):
        top = 1 - height - PANEL_GAP - number * (PANEL_HEIGHT + PANEL_GAP)
        axis = f"y{number + 2}"
        reach = _reach(panel)
        data += chain.from_iterable(_ratio(stroke, axis, systems, picture, reach) for stroke in panel.strokes)
        layout[f"yaxis{number + 2}"] = {
            **_ratio_axis(panel, reach),
            "domain": [round(max(top - PANEL_HEIGHT, 0), 3), round(top, 3)],
        }
        layout["shapes"] += _band(axis) if panel.band else [_one(axis)]
    return Chart(picture.title, picture.caption, {"data": data, "layout": layout})


def _main(stroke: SeriesStroke, picture: Picture, systems: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields ours as a curve, bars or squares, its trend, and the published values as open markers."""
    if stroke.ours:
        yield _ours(stroke, picture)
    if stroke.trend:
        yield {
            **_own(stroke),
            "x": [x for x, _ in stroke.trend],
            "y": [short(y) for _, y in stroke.trend],
            "mode": "lines",
            "line": {"width": 1, "dash": "dash"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    for system, spots in stroke.published.items():
        yield {**_marks(stroke, spots, _symbol(system, systems), picture.plot), **_error_bars(spots)}


def _ours(stroke: SeriesStroke, picture: Picture) -> dict[str, Any]:
    alone = {"showlegend": False} if stroke.name in picture.groups or len(picture.strokes) == 1 else {}
    own = {
        **_own(stroke),
        **alone,
        "x": [short(spot.x) for spot in stroke.ours],
        "y": [short(spot.y) for spot in stroke.ours],
        "text": [plain(spot.text) for spot in stroke.ours],
    }
    if picture.plot == "bars":
        labels = [plain(spot.label) for spot in stroke.ours]
        hatch = {"pattern": HATCH} if stroke.dash != "solid" else {}
        bars = {
            "type": "bar",
            "width": round(picture.width * 0.94, 4),
            "marker": hatch,
            "hovertext": own.pop("text"),
        }
        shown = {"text": labels, "textposition": "outside", "cliponaxis": False} if any(labels) else {}
        return {**own, **bars, **shown, "hovertemplate": "%{hovertext}<extra></extra>"}
    if picture.plot == "tiles":
        marker = {"symbol": "square", "size": 15}
        return {**own, "mode": "markers", "marker": marker, "hovertemplate": "%{text}<extra></extra>"}
    marker = {"symbol": SYMBOLS[stroke.colour % len(SYMBOLS)], "size": 5}
    line = {"dash": DASH[stroke.dash], "width": 2}
    return {
        **own,
        "mode": "lines+markers",
        "line": line,
        "marker": marker,
        "hovertemplate": "%{text}<extra></extra>",
    }


def _own(stroke: SeriesStroke) -> dict[str, Any]:
    return {"name": plain(stroke.name), "legendgroup": stroke.name, "colour": stroke.colour}


def _marks(stroke: SeriesStroke, spots: Sequence[Spot], symbol: str, plot: str) -> dict[str, Any]:
    # On a bar of its own colour an open marker is drawn in the colour of the text.
    return {
        **_own(stroke),
        "colour": -2 if plot == "bars" else stroke.colour,
        "x": [short(spot.x) for spot in spots],
        "y": [short(spot.y) for spot in spots],
        "text": [plain(spot.text) for spot in spots],
        "mode": "markers",
        "marker": {"symbol": symbol, "size": 9, "line": {"width": 2}},
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }


def _error_bars(spots: Sequence[Spot]) -> dict[str, Any]:
    """Returns published ranges as bars of error."""
    if not any(spot.low is not None for spot in spots):
        return {}
    above = [short((spot.high or spot.y) - spot.y) for spot in spots]
    below = [short(spot.y - (spot.low or spot.y)) for spot in spots]
    return {"error_y": {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "width": 4}}


def _symbol(system: str, systems: Sequence[str]) -> str:
    return PUBLISHED[systems.index(system) % len(PUBLISHED)] if system in systems else PUBLISHED[0]


def _legend(picture: Picture, systems: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields entries of the legend for the markers of each system's published values."""
    for system in systems:
        name = f"published, {system}" if system else "published"
        marker = {"symbol": _symbol(system, systems), "size": 9, "line": {"width": 2}}
        yield {
            "x": [None],
            "y": [None],
            "mode": "markers",
            "marker": marker,
            "name": plain(name),
            "colour": -2,
        }


def _ratio(
    stroke: SeriesStroke, axis: str, systems: Sequence[str], picture: Picture, reach: float
) -> Iterator[dict[str, Any]]:
    """Yields quotients of ours as a line, and those of published values as markers."""
    if stroke.ours:
        yield {**_ours(stroke, picture), "yaxis": axis, "showlegend": False}
    for system, spots in stroke.published.items():
        if stroke.ours:  # the quotient of two published values, beside that of ours
            yield {**_marks(stroke, spots, PUBLISHED[0], picture.plot), "yaxis": axis}
            continue
        inside = _symbol(system, systems).removesuffix("-open")
        symbols = [
            inside if 1 / reach <= spot.y <= reach else "triangle-up" if spot.y > 1 else "triangle-down"
            for spot in spots
        ]
        yield {
            **_marks(stroke, spots, inside, "lines"),
            "y": [short(min(max(spot.y, 1 / reach), reach)) for spot in spots],
            "marker": {"symbol": symbols, "size": 7},
            "yaxis": axis,
        }


def _ratio_axis(panel: Panel, reach: float) -> dict[str, Any]:
    """Returns a logarithmic axis of ratios from 1 / `reach` to `reach`."""
    ticks = next(ticks for most, ticks in RATIO_TICKS if reach <= most)
    end = round(log10(reach) * 1.15, 4)
    return {
        "type": "log",
        "title": {"text": panel.label},
        "range": [-end, end],
        "tickvals": list(ticks),
        "ticktext": [f"{tick:g}" for tick in ticks],
    }


def _reach(panel: Panel) -> float:
    """Returns how far from 1 the axis of ratios goes: FAR, where most are within, or as far as they do."""
    values = [
        max(spot.y, 1 / spot.y)
        for stroke in panel.strokes
        for spots in (stroke.ours, *stroke.published.values())
        for spot in spots
        if spot.y > 0
    ]
    most = max(values, default=1.0)
    if (
        panel.band
        and most > FARTHEST_RATIO
        and 2 * sum(value <= FARTHEST_RATIO for value in values) > len(values)
    ):
        return FARTHEST_RATIO
    return max(most, LEAST_REACH)


def _band(axis: str) -> list[dict[str, Any]]:
    """Returns the band of ratios that are close to 1, and the line at 1."""
    ends = {"x0": 0, "x1": 1, "y0": round(1 - BAND, 3), "y1": round(1 + BAND, 3)}
    place = {"xref": "paper", "yref": axis, "layer": "below", "line": {"width": 0}, "filled": True}
    return [{"type": "rect", **place, **ends}, _one(axis)]


def _one(axis: str) -> dict[str, Any]:
    ends = {"x0": 0, "x1": 1, "y0": 1, "y1": 1}
    return {"type": "line", "xref": "paper", "yref": axis, **ends, "line": {"width": 1}}


def _x_axis(picture: Picture) -> dict[str, Any]:
    if picture.plot == "bars":
        count = len(picture.groups)
        return {
            "range": [-0.6, count - 0.4],
            "tickvals": list(range(count)),
            "ticktext": [_wrapped(group) for group in picture.groups],
            "tickangle": 0 if count <= UPRIGHT else -30,
            "showgrid": False,
            "zeroline": False,
            "title": {"text": ""},
        }
    sizes = [round(spot.x) for spot in _all_spots(picture)]
    if picture.x_scale == "log":
        return size_axis(sizes, picture.x_label)
    ticks = [max(sizes) * part // 4 for part in range(5)]
    return {
        "title": {"text": picture.x_label},
        "rangemode": "tozero",
        "tickvals": ticks,
        "ticktext": [
            f"{tick / 2**30:.3g} GiB" if max(sizes) >= 2**30 else f"{tick / 2**20:.3g} MiB" for tick in ticks
        ],
    }


def _wrapped(text: str) -> str:
    """Breaks a label of several words at its commas."""
    return "<br>".join(plain(part) for part in text.split(", "))


def _y_axis(picture: Picture) -> dict[str, Any]:
    if picture.plot == "tiles":
        count = len(picture.groups)
        return {
            "range": [count - 0.5, -0.5],
            "tickvals": list(range(count)),
            "ticktext": [plain(group).replace(": ", ":<br>") for group in picture.groups],
            "showgrid": False,
            "title": {"text": ""},
        }
    if picture.y_scale == "log":
        return log_axis([spot.y for spot in _all_spots(picture)], picture.y_label)
    return {"title": {"text": picture.y_label}, "rangemode": "tozero"}


def _all_spots(picture: Picture) -> list[Spot]:
    return [
        spot
        for stroke in picture.strokes
        for spots in (stroke.ours, *stroke.published.values())
        for spot in spots
    ]


def _across(level: Label) -> dict[str, Any]:
    ends = {"x0": 0, "x1": 1, "y0": level.at, "y1": level.at}
    return {"type": "line", "xref": "paper", **ends, "line": {"dash": "dot", "width": 1}}


def _down(mark: Label) -> dict[str, Any]:
    line = {"dash": "dot", "width": 1}
    return {"type": "line", "yref": "y domain", "y0": 0, "y1": 1, "x0": mark.at, "x1": mark.at, "line": line}


def _annotations(picture: Picture) -> Iterator[dict[str, Any]]:
    """Yields names of levels and marks, and labels of single values; logarithmic axes want logarithms."""
    for level in picture.levels:
        at = round(log10(level.at), 4) if picture.y_scale == "log" else level.at
        place = {"xref": "paper", "x": 0.01, "xanchor": "left", "y": at, "yanchor": "bottom"}
        yield {**place, "showarrow": False, "text": plain(level.text)}
    for mark in picture.marks:
        at = round(log10(mark.at), 4) if picture.x_scale == "log" else mark.at
        place = {"x": at, "y": 1, "yref": "paper", "yanchor": "top", "xanchor": "left", "textangle": -90}
        yield {**place, "showarrow": False, "text": plain(mark.text)}
    if picture.plot != "lines":
        return
    for stroke in picture.strokes:
        for spot in stroke.ours:
            if spot.label:
                x = round(log10(spot.x), 4) if picture.x_scale == "log" else spot.x
                y = round(log10(spot.y), 4) if picture.y_scale == "log" else spot.y
                box = {"borderwidth": 1, "boxed": True, "borderpad": 2, "colour": stroke.colour}
                yield {"x": x, "y": y, "yshift": 13, "showarrow": False, "text": plain(spot.label), **box}
