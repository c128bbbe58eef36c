"""Views of one question each: a chart that stands above the tables of its section. One file a view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from byteways.explain.display.chart import Chart
from byteways.explain.results.index import Index
from byteways.report.views import applications, best_way, contention, first_touch, hierarchy

#: What a section shows first, by its anchor.
VIEWS: Mapping[str, Callable[[Index], Sequence[Chart]]] = {
    "best": best_way.charts,
    "first-touch": first_touch.charts,
    "together": contention.charts,
    "applications": applications.charts,
    "latency": hierarchy.charts,
}
