"""Charts as data: what is drawn of many lines, bars side by side, axes of ratios, marks of caches."""

from __future__ import annotations

from math import inf

import pytest

from byteways.explain.display.chart import (
    LEAST_REACH,
    Axis,
    Chart,
    Point,
    ReferenceLine,
    Series,
    in_rows,
    of_rows,
    ratio_axis,
)
from byteways.explain.display.curves import over_size_chart, over_working_set
from byteways.explain.results.summary import cells, gpu_caches
from byteways.topology.model import Cache, Device, Topology
from tests.report.few_records import GB, GIB, KIB, MIB, Fixture, flow, record


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
    assert chart.caption == "4 of 6 ways, chosen by their figure at the largest size."
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


def test_bars_of_a_row_are_side_by_side() -> None:
    """Catches bars over each other, in the row of another, or a mark beside its bar."""
    both = [Series(name, of_rows([Point(2.0, 0), None, Point(3.0, 0)]), "bars") for name in "ab"]
    ticks = Series("predicted", of_rows([None, Point(4.0, 0)]), "points")
    chart = in_rows("title", "", Axis("GB/s"), ["one", "two", "three"], [*both, ticks])
    a, b, predicted = chart.series
    assert [point.y for point in a.points] == [pytest.approx(row - a.width / 2) for row in (0, 2)]
    assert [point.y for point in b.points] == [pytest.approx(row + b.width / 2) for row in (0, 2)]
    assert 2 * a.width < 1 and chart.y.names == ("one", "two", "three")
    assert [(point.x, point.y) for point in predicted.points] == [(4.0, 1)]


def test_the_caches_of_all_that_walk_are_marked() -> None:
    """Catches the caches of the first CPU beside a walk of a GPU, and equal ones marked over and over."""
    levels = (Cache(1, "data", 48 * KIB, 64, 1), Cache(1, "instruction", 32 * KIB, 64, 1))
    devices = (
        *(Device(f"cpu{n}", "cpu", "CPU", caches=levels) for n in range(2)),
        *(Device(f"gpu{n}", "gpu", "GPU") for n in range(2)),
    )
    capabilities = {f"gpu{n}": {"last_level_cache_bytes": 60 * MIB} for n in range(2)}
    walks = [
        record("pointer-chase", [flow(f"{device}:device", f"{device}:device", device)], 300.0, size)
        for device in ("gpu0", "gpu1")
        for size in (MIB, GIB)
    ]
    run = Fixture(walks, {"capabilities": {"devices": capabilities}}, Topology("host", devices, ()))
    found = over_working_set(cells(run.records), run.topology, gpu_caches(run))
    assert found is not None
    assert found.marks == (ReferenceLine("GPU last-level cache 60 MiB", 60 * MIB),)
    run.records += [
        record("pointer-chase", [flow(f"{device}:pageable", f"{device}:pageable", device)], 3.0, size)
        for device in ("cpu0", "cpu1")
        for size in (KIB, MIB)
    ]
    found = over_working_set(cells(run.records), run.topology, gpu_caches(run))
    assert found is not None
    assert [mark.label for mark in found.marks] == ["CPU L1 48 KiB", "GPU last-level cache 60 MiB"]
