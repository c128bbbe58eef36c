"""The views above the tables of a section: what they draw is what the analysis says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from byteways.answers.results.index import Index
from byteways.questions.display.chart import Chart, Series
from byteways.questions.display.topic import Builder
from byteways.questions.subjects import applications, contention, first_touch, latency
from byteways.record.run_folder import RunFolder
from byteways.report.views import best_way
from tests.report import sample_run

#: What draws a view, by the anchor of its section.
TOPICS: dict[str, Builder] = {
    "applications": applications.topic,
    "first-touch": first_touch.topic,
    "latency": latency.topic,
    "together": contention.topic,
}


def drawn(anchor: str, build: sample_run.Builder, folder: Path) -> Sequence[Chart]:
    index = Index.of(RunFolder(build.write(folder)))
    if anchor == "best":
        return best_way.charts(index)
    topic = TOPICS[anchor](index)
    return topic.overview if topic else ()


def rows(chart: Chart, series: Series) -> dict[str, float]:
    """Values by the label of their row."""
    return {chart.y.names[round(point.y)]: point.x for point in series.points}


@pytest.mark.parametrize("anchor", ["best", *TOPICS])
def test_nothing_to_see_nothing_drawn(anchor: str, tmp_path: Path) -> None:
    """Would catch an empty chart, or a run without results that breaks the report."""
    assert list(drawn(anchor, sample_run.Builder(sample_run.topology(2)), tmp_path)) == []


def test_contention_shows_the_case_farthest_below(tmp_path: Path) -> None:
    """Would catch the best or the mean of a class in place of its worst, or sums in another unit."""
    build = sample_run.four_pairs()
    for a, b, rate in ((0, 1, 390.0), (1, 2, 200.0)):
        flows = [
            (f"gpu{a}:device", f"gpu{b}:device", f"gpu{b}"),
            (f"gpu{b}:device", f"gpu{a}:device", f"gpu{a}"),
        ]
        rates = {f"gpu{a}>gpu{b}": rate, f"gpu{b}>gpu{a}": rate}
        build.measure("copy", flows, rates, pattern="bidirectional", peak=900)
    (chart,) = drawn("together", build, tmp_path)
    reached, predicted = chart.series
    label = "bidirectional, GPUs, 2 flows, copy (2 cases)"
    assert rows(chart, reached) == {label: pytest.approx(400, rel=0.01)}
    assert rows(chart, predicted) == {label: pytest.approx(788, rel=0.01)}
    assert [point.label for point in reached.points] == ["51 %"]
    assert (predicted.kind, predicted.symbol) == ("points", "tick")


def test_first_touch_compares_what_two_devices_touched(tmp_path: Path) -> None:
    """Would catch bars of memory that only one device touched, which show nothing."""
    build = sample_run.h200x4(sizes=(sample_run.GIB,))
    (chart,) = drawn("first-touch", build, tmp_path)
    by_cpu, by_gpu = chart.series
    label = "kernel issued by the destination, cpu0>gpu0, 256 MiB, cpu0:managed"
    assert rows(chart, by_cpu) == {label: pytest.approx(12.4, rel=0.01)}
    assert rows(chart, by_gpu) == {label: pytest.approx(310, rel=0.01)}
    assert (by_cpu.label, by_gpu.label) == ("first touch by cpu0", "first touch by gpu0")


def test_the_hierarchy_is_in_order(tmp_path: Path) -> None:
    """Would catch levels out of order, or those of a CPU given to a GPU."""
    (chart,) = drawn("latency", sample_run.h200x4(sizes=(sample_run.GIB,)), tmp_path)
    gpu, cpu = chart.series
    assert list(rows(chart, gpu).values()) == [640.0, 828.0, 1171.0]
    assert all(label.startswith("GPU: ") for label in rows(chart, gpu))
    assert list(rows(chart, cpu).values()) == [1.2, 4.1, 21.0, 96.0]
    assert all(label.startswith("cpu0: ") for label in rows(chart, cpu))


def test_the_map_names_the_best_in_each_cell(tmp_path: Path) -> None:
    """Would catch a colour that is not the name's, or a cell of another size."""
    (chart,) = drawn("best", sample_run.h200x4(sizes=(sample_run.MIB, sample_run.GIB)), tmp_path)
    assert chart.x.names == ("1 MiB", "1 GiB")
    row = chart.y.names.index("Between GPUs, NVLink4 ×18")
    found = {(point.x, point.y): one.label for one in chart.series for point in one.points}
    assert [found[column, row] for column in (0, 1)] == ["copy", "copy"]
    assert len(found) == sum(len(one.points) for one in chart.series)  # one name in each cell
    told = [(one.label, point.label) for one in chart.series for point in one.points]
    assert all(label.removesuffix(" ≈") == name for name, label in told)
