"""Ticks of axes: what stands at them, and that they fit."""

from __future__ import annotations

import pytest

from byteways.explain.display.curves import CurveSeries, Family, Point, over_working_set
from byteways.explain.results.summary import cells, gpu_caches
from byteways.report import charts
from byteways.report.axes import MOST_LABELS, count_axis, log_axis, size_axis
from byteways.topology.model import Cache, Device, Topology
from tests.report.few_records import GB, GIB, KIB, MIB, Fixture, flow, record


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (4 * KIB, GIB, ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB"]),
        (MIB, 8 * MIB, ["1 MiB", "2 MiB", "4 MiB", "8 MiB"]),
        (8, GIB, ["32 B", "1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"]),
        (3 * MIB, 5 * MIB, ["3 MiB", "5 MiB"]),
    ],
)
def test_sizes_are_labelled_at_even_powers_of_two(low: int, high: int, labels: list[str]) -> None:
    """Catches labels at whatever sizes were measured, at uneven steps, or more than have room."""
    axis = size_axis([low, high], "size")
    assert axis["ticktext"][: len(labels)] == labels
    assert len(axis["ticktext"]) <= MOST_LABELS
    steps = {b / a for a, b in zip(axis["tickvals"], axis["tickvals"][1:], strict=False)}
    assert len(steps) == 1


def test_decades_are_labelled_in_full() -> None:
    """Catches a lone 2 or 5 between two decades, which reads as two and five."""
    assert log_axis([1.5, 9.0], "ns")["ticktext"] == ["1", "2", "5", "10", "20", "50"]
    assert log_axis([0.002, 0.9], "GB/s")["ticktext"][:3] == ["0.001", "0.003", "0.01"]
    assert log_axis([1.0, 2e6], "ns")["ticktext"][-1] == "10 000 000"
    assert "tickvals" not in log_axis([0.0], "nothing")


def test_swept_counts_are_their_own_ticks() -> None:
    """Catches labels on top of each other where two counts are close, and the last one left out."""
    axis = count_axis([1, 2, 4, 8, 128, 132], "blocks")
    assert axis["ticktext"] == ["1", "2", "4", "8", "132"]


def over_size(peak: float | None, values: tuple[float, ...]) -> charts.Chart:
    points = tuple(Point(4**n * KIB, value, value, value, 1) for n, value in enumerate(values))
    return charts.over_size(Family("title", (CurveSeries("copy", points),), peak))


def test_a_peak_far_above_does_not_flatten_the_curves() -> None:
    """Catches curves of small transfers that all lie on the axis, and a near peak that is left out."""
    near = over_size(450 * GB, (1 * GB, 394 * GB))
    assert near.figure["levels"] == [{"at": 450.0, "name": "peak 450.0 GB/s"}]
    far = over_size(450 * GB, (0.003 * GB, 24 * GB))
    assert "levels" not in far.figure
    assert "450.0 GB/s per direction, is far above" in far.caption


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
    assert [(mark.label, mark.size_bytes) for mark in found[1]] == [("GPU last-level cache", 60 * MIB)]
    run.records += [
        record("pointer-chase", [flow(f"{device}:pageable", f"{device}:pageable", device)], 3.0, size)
        for device in ("cpu0", "cpu1")
        for size in (KIB, MIB)
    ]
    found = over_working_set(cells(run.records), run.topology, gpu_caches(run))
    assert found is not None
    assert [mark.label for mark in found[1]] == ["CPU L1", "GPU last-level cache"]
