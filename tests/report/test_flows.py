"""Charts of sums over the number of flows."""

from __future__ import annotations

from byteways.questions.display.chart import Point
from byteways.questions.display.curves import Fans, over_flows_chart
from tests.report.few_records import MIB


def fan(hub: str, rate: float, way: str = "copy issued by the source") -> Fans:
    points = tuple(Point(n, n * rate, 0.9 * n * rate, 1.1 * n * rate) for n in (1, 2, 3))
    return Fans(hub, f"{{}} to GPUs: {way}", MIB, points)


def test_many_hubs_share_a_line() -> None:
    """Would catch a legend of dozens of lines in eight colours, a mean of hubs, or a range that hides one."""
    ways = "copy issued by the source", "kernel issued by the source"
    some = [
        fan(f"gpu{n}", rate, way) for way in ways for n, rate in enumerate((10.0, 10.0, 10.0, 20.0, 40.0))
    ]
    chart = over_flows_chart("GPUs", some)
    assert [one.label for one in chart.series[:2]] == [f"one GPU to GPUs: {way}" for way in ways]
    line = chart.series[0].points
    assert [point.y for point in line] == [10.0, 20.0, 30.0]
    assert [(point.low, point.high) for point in line] == [(9.0, 44.0), (18.0, 88.0), (27.0, 132.0)]
    assert chart.caption.endswith("A line is the median over its hubs, its band their range.")
