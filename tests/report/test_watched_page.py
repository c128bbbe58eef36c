"""The page of what is no run, and the charts of a watched program."""

from __future__ import annotations

import re

from byteways.ext.watch.advice.pictures import size_chart, time_chart
from byteways.ext.watch.bins import Bin, Series, TimeLine, Watched
from byteways.questions.display.table import Table
from byteways.report.simple_page import SimplePage, simple_page

BINS = [
    Bin("copy", "cuMemcpyHtoDAsync", 2, 3000, 1500, 1500, time_ns=10),
    Bin("copy", "cuMemcpyHtoDAsync", 1, 1100, 1100, 1100),
    Bin("message", "MPI_Send", 4, 32, 8, 8, call_ns=5),
    Bin("synchronisation", "MPI_Wait", 4, 0, 0, 0, call_ns=5),
]
LINE = TimeLine(
    1000, [Series("copy", 0, [1000, 0, 3000]), Series("copy", 1, [1000]), Series("message", 0, [0, 0])]
)


def test_bytes_by_method_and_size() -> None:
    """Catches operations of a size class that are not added up, and calls without bytes."""
    chart = size_chart(Watched([], BINS))
    assert chart is not None
    points = {series.label: [(point.x, point.y) for point in series.points] for series in chart.series}
    assert points == {"cuMemcpyHtoDAsync": [(1024, 4100)], "MPI_Send": [(8, 32)]}
    assert size_chart(Watched([], BINS[3:])) is None


def test_rate_over_time_adds_processes() -> None:
    """Catches a process that replaces another one, and bytes that are taken for a rate."""
    chart = time_chart(Watched([], BINS, LINE))
    assert chart is not None
    (copies,) = chart.series
    assert [(point.x, point.y) for point in copies.points] == [(500, 2.0), (1500, 0.0), (2500, 3.0)]
    assert time_chart(Watched([], BINS)) is None


def test_a_page_has_scripts_for_its_charts_alone() -> None:
    """Catches a page of tables that needs scripts, charts without them, and an id that two elements have."""
    chart = size_chart(Watched([], BINS))
    assert chart is not None
    table = Table("<numbers>", ("a",), (("</td><script>x",),), ())
    plain = simple_page(SimplePage("watch", "T", ("mark",), "S", ("note",), "Numbers", (table,)))
    drawn = simple_page(SimplePage("watch", "T", ("mark",), "S", ("note",), "Numbers", (table,), (chart,)))
    assert "<script" not in plain and "script-src" not in plain
    assert "<script>x" not in drawn and "chart.title" not in drawn and 'data-chart="0"' in drawn
    assert all('<nav class="contents"' in page for page in (plain, drawn))  # the frame has a column for it
    ids = re.findall(r'\bid="([^"]+)"', drawn)
    assert len(ids) == len({*ids})
