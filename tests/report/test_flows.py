"""Charts of sums over the number of flows."""

from __future__ import annotations

from byteways.explain.display.curves import Point, Scaling
from byteways.report import charts
from tests.report.few_records import GB, MIB


def fan(hub: str, rate: float, way: str = "copy, write") -> Scaling:
    points = tuple(Point(n, n * rate * GB, 0.9 * n * rate * GB, 1.1 * n * rate * GB, 1) for n in (1, 2, 3))
    return Scaling(f"{hub} to GPUs: {way}", MIB, points)


def names(chart: charts.Chart) -> list[str]:
    return [trace["name"] for trace in chart.figure["data"] if "name" in trace]


def test_few_hubs_have_a_line_each() -> None:
    """Would catch hubs of different rates in one line where all of them have room."""
    chart = charts.over_flows("GPUs", [fan(f"gpu{n}", 10.0 * n) for n in (1, 2, 3)])
    assert names(chart)[:3] == [f"gpu{n} to GPUs: copy, write" for n in (1, 2, 3)]
    assert "median" not in chart.caption


def test_many_hubs_share_a_line() -> None:
    """Would catch a legend of dozens of lines in eight colours, a mean of hubs, or a range that hides one."""
    ways = "copy, write", "kernel, write"
    some = [
        fan(f"gpu{n}", rate, way) for way in ways for n, rate in enumerate((10.0, 10.0, 10.0, 20.0, 40.0))
    ]
    chart = charts.over_flows("GPUs", some)
    assert names(chart)[:2] == [f"one GPU to GPUs: {way}" for way in ways]
    band, line = chart.figure["data"][:2]
    assert line["y"] == [10.0, 20.0, 30.0]
    assert band["y"] == [44.0, 88.0, 132.0, 27.0, 18.0, 9.0]  # the upper ends, and back along the lower ones
    assert chart.caption.endswith("A line is the median over its hubs, its band their range.")
