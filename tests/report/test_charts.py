"""Charts as data: what is drawn of many lines, bars side by side, axes of ratios, marks of caches."""

from __future__ import annotations

from math import inf

from byteways.questions.display.chart import (
    LEAST_REACH,
    Chart,
    Point,
    ReferenceLine,
    Series,
    ratio_axis,
)
from byteways.questions.display.curves import over_size_chart
from tests.report.few_records import GB, KIB, MIB


def drawn(peak: float | None, values: tuple[float, ...]) -> Chart:
    points = tuple(Point(4**n * KIB, value) for n, value in enumerate(values))
    return over_size_chart("title", [Series("copy", points)], peak)


def test_a_peak_far_above_does_not_flatten_the_curves() -> None:
    """Catches curves of small transfers that all lie on the axis, and a near peak that is left out."""
    near = drawn(450 * GB, (1, 394))
    assert near.levels == (ReferenceLine("peak 450.0 GB/s", 450.0),)
    far = drawn(450 * GB, (0.003, 24))
    assert far.levels == ()
    assert "450.0 GB/s per direction, is far above" in far.caption


def test_the_fastest_of_many_are_drawn() -> None:
    """Catches a chart of more lines than can be named, the slowest ones drawn, and a default left out."""
    lines = [Series(f"way {n}", (Point(KIB, 9.0 - n), Point(MIB, 10.0 * n))) for n in range(6)]
    chart = over_size_chart("title", lines, None)
    assert [one.label for one in chart.series] == ["way 2", "way 3", "way 4", "way 5"]
    assert chart.caption == "4 of 6 methods, chosen by their figure at the largest size."
    with_default = over_size_chart("title", lines, None, lines[:2])
    assert [one.label for one in with_default.series] == ["way 1", "way 3", "way 4", "way 5"]


def test_an_axis_of_ratios_shows_most_of_them() -> None:
    """Catches one far ratio that flattens all others, and ratios that are all at the edge."""

    def reach(*ratios: float, farthest: float = 2.0) -> float:
        points = tuple(Point(n, ratio) for n, ratio in enumerate(ratios))
        return ratio_axis("ratio", [Series("copy", points)], farthest).reach

    assert reach(1.0, 1.1, 0.95, 100.0, 0.01) == 2.0
    assert reach(7.5, 8.0) == 8.0
    assert reach(1.0, 0.25, farthest=inf) == 4.0
    assert reach(1.0) == LEAST_REACH
