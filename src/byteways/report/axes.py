"""Chart axes with readable ticks: sizes at powers of two, logarithms at 1, 2 and 5."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log2, log10
from typing import Any

from byteways.units import format_size

#: Maximum labels on a wide axis; narrower pages omit some.
MOST_LABELS = 12
#: Ticks are this many doublings apart: all divide the ten doublings between units, so each unit has a tick.
DOUBLINGS = (1, 2, 5, 10)
#: Labelled digits of a logarithmic axis, by the maximum number of decades.
LABELLED_DIGITS = ((2, (1, 2, 5)), (4, (1, 3)))


def size_axis(sizes: Sequence[int], title: str) -> dict[str, Any]:
    """Logarithmic axis, labelled in B, KiB, MiB, GiB at even steps, independent of the measured sizes."""
    low, high = log2(min(sizes)), log2(max(sizes))
    step = next((step for step in DOUBLINGS if (high - low) / step < MOST_LABELS), DOUBLINGS[-1])
    first = ceil(round(low / step, 6))
    ticks = [2 ** (step * index) for index in range(first, floor(round(high / step, 6)) + 1)]
    ticks = ticks if len(ticks) > 1 else sorted(set(sizes))
    return {
        "type": "log",
        "title": {"text": title},
        "tickangle": 0,
        "tickvals": ticks,
        "ticktext": [format_size(tick) for tick in ticks],
    }


def log_axis(values: Sequence[float], title: str) -> dict[str, Any]:
    """Logarithmic axis with full numbers as labels; Plotly's own are a lone 2 or 5 between decades."""
    positive = [value for value in values if value > 0]
    axis: dict[str, Any] = {"type": "log", "title": {"text": title}}
    if not positive:
        return axis
    low, high = floor(log10(min(positive))), ceil(log10(max(positive)))
    digits = next((digits for decades, digits in LABELLED_DIGITS if high - low <= decades), (1,))
    ticks = [digit * 10.0**decade for decade in range(low, high + 1) for digit in digits]
    return {**axis, "tickvals": ticks, "ticktext": [f"{tick:,.12g}".replace(",", " ") for tick in ticks]}


def count_axis(counts: Sequence[float], title: str) -> dict[str, Any]:
    """Logarithmic axis over swept counts, such as blocks, with as many of them as ticks as fit."""
    distinct = sorted(set(counts))
    apart = (distinct[-1] / distinct[0]) ** (1 / MOST_LABELS)
    shown = distinct[-1:]
    for count in reversed(distinct[:-1]):
        if count * apart <= shown[0]:
            shown.insert(0, count)
    return {
        "type": "log",
        "title": {"text": title},
        "tickangle": 0,
        "tickvals": shown,
        "ticktext": [f"{count:g}" for count in shown],
    }
