"""The views above the tables of a section: what they draw is what the analysis says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from byteways.explain.results.index import Index
from byteways.record.run_folder import RunFolder
from byteways.report.charts import Chart
from byteways.report.views import VIEWS
from byteways.report.views.bars import Bar, Bars, of_bars, of_dots
from tests.report import sample_run


def drawn(anchor: str, build: sample_run.Builder, folder: Path) -> Sequence[Chart]:
    return VIEWS[anchor](Index.of(RunFolder(build.write(folder))))


def rows(trace: dict[str, Any]) -> dict[str, Any]:
    """Values by the label of their row, without line breaks."""
    return {label.replace("<br>", " "): value for label, value in zip(trace["y"], trace["x"], strict=True)}


def bar(value: float, text: str = "") -> Bar:
    return Bar(value, 0.9 * value, 1.1 * value, text, "details")


def test_bars_carry_interval_text_and_gaps() -> None:
    """Would catch bars in the row of another, intervals as ends instead of lengths, and markup in names."""
    series = [Bars("a", (bar(10.0, "ten"), None)), Bars("<b>", (bar(5.0), bar(2.0)))]
    chart = of_bars("title", "caption", "GB/s", ("first & last", "second"), series)
    one, other = chart.figure["data"]
    assert rows(one) == {"first &amp; last": 10.0}
    assert one["text"] == ["   ten"]
    assert one["error_x"]["array"] == one["error_x"]["arrayminus"] == [1.0]
    assert rows(other) == {"first &amp; last": 5.0, "second": 2.0}
    assert other["name"] == "&lt;b&gt;"


def test_a_tick_stands_for_what_was_foreseen() -> None:
    """Would catch predictions drawn as results, or a text that the tick hides."""
    series = [Bars("reached", (bar(4.0, "40 %"),)), Bars("predicted", (bar(10.0),), foreseen=True)]
    reached, predicted, texts = of_bars("t", "c", "GB/s", ("row",), series).figure["data"]
    assert reached["type"] == "bar" and "text" not in reached
    assert predicted["mode"] == "markers" and predicted["x"] == [10.0]
    assert texts["x"] == [11.0] and texts["text"] == ["  40 %"]


def test_dots_leave_room_for_their_texts() -> None:
    """Would catch a last text outside the plot."""
    layout = of_dots("t", "c", "ns", ("a", "b"), [Bars("x", (bar(1.0), bar(100.0)))]).figure["layout"]
    low, high = layout["xaxis"]["range"]
    assert layout["xaxis"]["type"] == "log"
    assert low < -0.1 and high > 2.3


@pytest.mark.parametrize("anchor", sorted(VIEWS))
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
    reached, predicted, texts = chart.figure["data"]
    label = "bidirectional, GPUs, 2 flows, copy (2 cases)"
    assert rows(reached) == {label: pytest.approx(400, rel=0.01)}
    assert rows(predicted) == {label: pytest.approx(788, rel=0.01)}
    assert texts["text"] == ["  51 %"]


def test_first_touch_compares_what_two_devices_touched(tmp_path: Path) -> None:
    """Would catch bars of memory that only one device touched, which show nothing."""
    build = sample_run.h200x4(sizes=(sample_run.GIB,))
    (chart,) = drawn("first-touch", build, tmp_path)
    by_cpu, by_gpu = chart.figure["data"]
    label = "kernel, read, cpu0&gt;gpu0, 256 MiB, cpu0:managed"
    assert rows(by_cpu) == {label: pytest.approx(12.4, rel=0.01)}
    assert rows(by_gpu) == {label: pytest.approx(310, rel=0.01)}
    assert (by_cpu["name"], by_gpu["name"]) == ("first touch by cpu0", "first touch by gpu0")


def test_the_hierarchy_is_in_order(tmp_path: Path) -> None:
    """Would catch levels out of order, or those of a CPU given to a GPU."""
    (chart,) = drawn("latency", sample_run.h200x4(sizes=(sample_run.GIB,)), tmp_path)
    gpu, cpu = chart.figure["data"]
    assert list(rows(gpu).values()) == [640.0, 828.0, 1171.0]
    assert all(label.startswith("GPU: ") for label in rows(gpu))
    assert list(rows(cpu).values()) == [1.2, 4.1, 21.0, 96.0]
    assert all(label.startswith("cpu0: ") for label in rows(cpu))


def test_the_map_names_the_best_in_each_cell(tmp_path: Path) -> None:
    """Would catch a colour that is not the name's, or a cell of another size."""
    (chart,) = drawn("best", sample_run.h200x4(sizes=(sample_run.MIB, sample_run.GIB)), tmp_path)
    (trace,) = chart.figure["data"]
    assert trace["x"] == ["1 MiB", "1 GiB"]
    row = [label.replace("<br>", " ").strip() for label in trace["y"]].index("Between GPUs, NVLink4 ×18")
    assert trace["text"][row] == ["copy", "copy"]
    names: dict[float, set[str]] = {}
    for colours, texts in zip(trace["z"], trace["text"], strict=True):
        for colour, text in zip(colours, texts, strict=True):
            if colour is not None:
                names.setdefault(colour, set()).add(text.removesuffix(" ≈"))
    assert all(len(told) == 1 for told in names.values())
    assert max(names) < trace["palette"]
