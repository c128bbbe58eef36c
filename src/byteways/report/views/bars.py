"""Horizontal bars with intervals, a row for each thing compared, with its value written at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from textwrap import wrap
from typing import Any

from byteways.report.axes import log_axis
from byteways.report.charts import HATCH, Chart, plain, short

#: Letters of a line of a row's label.
LABEL_LETTERS = 30
#: Pixels: a bar, a line of a label, and the space around a row.
BAR_HEIGHT, LABEL_LINE_HEIGHT, BAR_GAP = 19, 17, 9
#: Room right of the longest bar for its text, as a fraction of it.
TEXT_ROOM = 0.22


@dataclass(frozen=True)
class Bar:
    """A value with its interval, in the unit of the axis; `text` stands beside it, `details` is its tip."""

    value: float
    low: float
    high: float
    text: str
    details: str


@dataclass(frozen=True)
class Bars:
    """One series: a bar for each row, None where it has none.

    `foreseen`: a tick instead of a bar; `hatched`: told apart without colour.
    """

    label: str
    bars: tuple[Bar | None, ...]
    foreseen: bool = False
    hatched: bool = False


def of_bars(title: str, caption: str, unit: str, rows: Sequence[str], series: Sequence[Bars]) -> Chart:
    """Returns the chart; rows from top to bottom."""
    labels = _labels(rows)
    solid = sum(not one.foreseen for one in series)
    data = [_trace(one, index, labels, solid == len(series)) for index, one in enumerate(series)]
    if solid < len(series):
        data.append(_texts(series, labels))
    most = max((bar.high for one in series for bar in one.bars if bar), default=1.0)
    height = _height(labels, BAR_HEIGHT * solid)
    layout = {
        "xaxis": {"title": {"text": unit}, "range": [0, most * (1 + TEXT_ROOM)]},
        "yaxis": {"type": "category", "autorange": "reversed", "ticksuffix": " "},
        "barmode": "group",
        "bargap": 1 - BAR_HEIGHT * solid / height,
        "showlegend": len(series) > 1,
    }
    return Chart(title, caption, {"data": data, "layout": layout, "rows": len(rows) * height})


def of_dots(title: str, caption: str, unit: str, rows: Sequence[str], series: Sequence[Bars]) -> Chart:
    """Returns dots on a logarithmic axis: bars would start at an arbitrary place."""
    labels = _labels(rows)
    data = [_dots(one, index, labels) for index, one in enumerate(series)]
    values = [end for one in series for bar in one.bars if bar for end in (bar.low, bar.high)]
    axis = log_axis(values, f"{unit}, logarithmic")
    axis["range"] = [log10(min(values)) - 0.1, log10(max(values)) + TEXT_ROOM * 2]
    layout = {
        "xaxis": axis,
        "yaxis": {"type": "category", "autorange": "reversed", "ticksuffix": " ", "showgrid": True},
        "showlegend": len(series) > 1,
    }
    return Chart(
        title, caption, {"data": data, "layout": layout, "rows": len(rows) * _height(labels, BAR_HEIGHT)}
    )


def _labels(rows: Sequence[str]) -> list[str]:
    return ["<br>".join(map(plain, wrap(row, LABEL_LETTERS))) for row in rows]


def _height(labels: Sequence[str], bars: int) -> int:
    """Returns the pixels of a row: its bars, or the lines of the longest label."""
    lines = max(label.count("<br>") + 1 for label in labels)
    return max(bars, LABEL_LINE_HEIGHT * lines) + BAR_GAP


def _texts(series: Sequence[Bars], labels: Sequence[str]) -> dict[str, Any]:
    """Returns the texts of all bars, right of their ticks."""
    ends: dict[str, tuple[float, str]] = {}
    for one in series:
        for label, bar in zip(labels, one.bars, strict=True):
            if bar:
                end, text = ends.get(label, (0.0, ""))
                ends[label] = max(end, bar.high), text or bar.text
    return {
        "type": "scatter",
        "mode": "text",
        "x": [short(end) for end, _ in ends.values()],
        "y": list(ends),
        "text": [plain(f"  {text}") for _, text in ends.values()],
        "textposition": "middle right",
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
        "colour": -2,
    }


def _trace(one: Bars, index: int, labels: Sequence[str], own_texts: bool) -> dict[str, Any]:
    told = [(label, bar) for label, bar in zip(labels, one.bars, strict=True) if bar]
    common = {
        "x": [short(bar.value) for _, bar in told],
        "y": [label for label, _ in told],
        "name": plain(one.label),
        "hovertext": [plain(bar.details) for _, bar in told],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "colour": index,
    }
    if one.foreseen:
        return {
            **common,
            "type": "scatter",
            "mode": "markers",
            "colour": -2,
            "marker": {"symbol": "line-ns-open", "size": BAR_HEIGHT - 1, "line": {"width": 3}},
        }
    beside = [plain(f"   {bar.text}") for _, bar in told]  # right of the interval's end
    texts = {"text": beside, "textposition": "outside", "cliponaxis": False}
    return {
        **common,
        "type": "bar",
        "orientation": "h",
        **(texts if own_texts else {}),
        "error_x": _interval(told),
        "marker": {"pattern": HATCH} if one.hatched else {},
    }


def _dots(one: Bars, index: int, labels: Sequence[str]) -> dict[str, Any]:
    told = [(label, bar) for label, bar in zip(labels, one.bars, strict=True) if bar]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [short(bar.value) for _, bar in told],
        "y": [label for label, _ in told],
        "name": plain(one.label),
        "text": [plain(f" {bar.text}") for _, bar in told],
        "textposition": "middle right",
        "cliponaxis": False,
        "error_x": _interval(told),
        "hovertext": [plain(bar.details) for _, bar in told],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {"size": 10, "symbol": ("circle", "square", "diamond", "cross")[index % 4]},
        "colour": index,
    }


def _interval(told: Sequence[tuple[str, Bar]]) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [short(max(0.0, bar.high - bar.value)) for _, bar in told],
        "arrayminus": [short(max(0.0, bar.value - bar.low)) for _, bar in told],
        "thickness": 1.2,
        "width": 3,
    }
