"""The charts of the page on two runs: they draw what the comparison found, and a browser draws them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from byteways.answers.results.index import Index
from byteways.questions.display.chart import Chart, Series
from byteways.record.run_folder import RunFolder
from byteways.report import write_comparison
from byteways.report.compared import MOST_CHARTS, ComparedPage, from_comparison
from byteways.report.views import contention, curve_changes, hierarchy
from byteways.verdicts.two_runs.comparison import Comparison, compare_runs
from tests.report import sample_run
from tests.report.browser import IN_BROWSER, Browser
from tests.report.test_accessible import violations
from tests.unit.verdicts.test_comparison import folder_of

SIZES = sample_run.MIB, sample_run.GIB


class SlowGpu2(sample_run.Builder):
    """Transfers between gpu2 and other GPUs at half their rate; the memory of a peer twice as far."""

    def measure(self, interface: str, flows: Sequence[tuple[str, str, str]], rate: Any, **more: Any) -> None:
        ends = {end.partition(":")[0] for flow in flows for end in flow[:2]}
        if "gpu2" in ends and len(ends) == 2 and "cpu0" not in ends:
            rate = {path: one / 2 for path, one in rate.items()} if isinstance(rate, dict) else rate / 2
        if interface == "pointer-chase" and flows[0][0] == "gpu1:device":
            more["latency_ns"] = 2 * more["latency_ns"]
        super().measure(interface, flows, rate, **more)


def two_runs(base: Path) -> list[RunFolder]:
    """A healthy run, and one with a slow gpu2 and a far peer."""
    runs = [folder_of(sample_run.h200x4(sizes=SIZES), base / "healthy")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_run, "Builder", SlowGpu2)
        return [*runs, folder_of(sample_run.h200x4(sizes=SIZES), base / "slow")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    return two_runs(tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def compared(runs: list[RunFolder]) -> Comparison:
    (found,) = compare_runs(runs, ["healthy", "slow"])
    return found


@pytest.fixture(scope="module")
def page(runs: list[RunFolder], compared: Comparison) -> ComparedPage:
    return from_comparison(runs, compared)


def rows(chart: Chart, series: Series) -> dict[str, str]:
    """Texts by the label of their row."""
    return {chart.y.names[round(point.y)]: point.label for point in series.points}


def test_curves_show_the_path_that_changed_most(runs: list[RunFolder], compared: Comparison) -> None:
    """Would catch a median over equal paths, which hides the slow one, and a speed other than the claim's."""
    charts = curve_changes.changes(Index.of(runs[0]), compared.pairs)
    first = charts[0]
    assert "gpu2" in first.chart.title and "NVLink4 ×18" in first.chart.title
    of_case = {pair.first.record.case_id: pair for pair in compared.pairs}
    (speed,) = first.chart.below
    line, second, speeds = *first.chart.series[:2], speed.series[0]
    source, destination = first.chart.title.partition(",")[0].split(">")
    pairs = [
        pair
        for pair in of_case.values()
        if pair.first.variant.name == line.label
        and (pair.first.source.device, pair.first.destination.device) == (source, destination)
        and pair.first.record.pattern == "unidirectional"
    ]
    pairs.sort(key=lambda pair: pair.first.record.size_bytes)
    assert [point.x for point in line.points] == [*SIZES]
    assert [point.y for point in speeds.points] == [pytest.approx(pair.speed, rel=1e-4) for pair in pairs]
    assert [point.open for point in speeds.points] == [False, False]
    assert all("-50.0 %" in point.text for point in speeds.points)
    halves = [pytest.approx(point.y / 2, rel=0.01) for point in line.points]
    assert [point.y for point in second.points] == halves
    assert line.label == second.group == speeds.group and line.colour == second.colour == speeds.colour
    same = [one for one in charts if one.differ == 0]
    assert same and charts.index(same[0]) >= 1  # the unchanged come last
    unchanged = [line for one in same for line in one.chart.below[0].series]
    assert all(point.open for line in unchanged for point in line.points)


def test_contention_tells_a_slow_link_from_bad_sharing(runs: list[RunFolder], compared: Comparison) -> None:
    """Would catch a prediction of the other run: half of the rate is all of what the slow link can share."""
    (one,) = contention.changes(*map(Index.of, runs), compared.pairs)
    first, second = one.chart.series
    row = "bidirectional, GPUs, 2 flows, copy (6 cases)"
    before, after = rows(one.chart, first)[row], rows(one.chart, second)[row]
    assert before == "99 % of predicted"
    assert after == "-50.0 %; 99 % of predicted"
    assert (second.kind, second.dash) == ("bars", "dashed")
    assert rows(one.chart, second)["bidirectional, host and GPUs, 2 flows, copy (4 cases)"].startswith("=; ")


def test_the_hierarchy_marks_the_level_that_moved(runs: list[RunFolder], compared: Comparison) -> None:
    """Would catch a longer latency that counts as faster, or levels of the two runs side by side."""
    (one,) = hierarchy.changes(Index.of(runs[0]), compared.pairs)
    assert one.differ == 1
    first, second = one.chart.series
    assert rows(one.chart, second)["GPU: a peer's memory"] == "1.66 µs, -50.0 %"
    assert rows(one.chart, second)["GPU: its own memory"].endswith(", =")
    assert [point.x for point in first.points] != [point.x for point in second.points]


def test_sections_with_a_change_are_open(page: ComparedPage) -> None:
    """Would catch a change that is folded away, or more charts than a screen has."""
    told = {view.anchor: view for view in page.views}
    assert list(told) == ["curves", "together", "latency"]
    assert all(view.differ and view.shown <= MOST_CHARTS for view in page.views)
    assert told["latency"].differing == "1 of 7 cases drawn here differ"


def test_equal_runs_are_folded(tmp_path: Path) -> None:
    """Would catch a section that opens without a difference."""
    runs = [folder_of(sample_run.h200x4(sizes=SIZES), tmp_path / name) for name in ("a", "b")]
    (found,) = compare_runs(runs, ["a", "b"])
    views = from_comparison(runs, found).views
    assert views and not any(view.differ for view in views)
    assert all(view.differing.startswith("none of ") for view in views)


class TestInBrowser:
    pytestmark = IN_BROWSER

    def test_it_prints_on_two_pages(self, runs: list[RunFolder], tmp_path: Path) -> None:
        """Would catch the essentials scattered over many sheets, and "Open all" that does not print more."""
        page = write_comparison(runs, tmp_path / "two.html", names=["healthy", "slow"])
        with Browser(width=1400) as browser:
            browser.open(page)
            browser.pdf(tmp_path / "two.pdf")
            assert (tmp_path / "two.pdf").read_bytes().count(b"/Type /Page\n") == 2
            browser.evaluate("document.getElementById('unfold').click()")
            browser.evaluate("byteways.unpacked()")
            browser.pdf(tmp_path / "all.pdf")
            assert (tmp_path / "all.pdf").read_bytes().count(b"/Type /Page\n") > 2
            assert browser.console == []

    def test_both_runs_are_drawn_and_can_be_saved(self, runs: list[RunFolder], tmp_path: Path) -> None:
        """Would catch a chart without its second run or its ratio, and one without buttons."""
        with Browser(width=1400) as browser:
            browser.open(write_comparison(runs, tmp_path / "two.html", names=["healthy", "slow"]))
            browser.evaluate("byteways.drawAll()")
            lines = "document.querySelectorAll('#curves .chart:first-of-type path.line{}').length"
            solid = browser.evaluate(lines.format("[stroke-dasharray=none]"))
            assert solid > 0
            assert browser.evaluate(lines.format("")) == 3 * solid  # the second run, and its speed
            tips = "Array.from(document.querySelectorAll('#curves .reach'), (one) => one.dataset.details)"
            assert any("-50" in one.replace("−", "-") for one in browser.evaluate(tips))
            browser.evaluate("document.querySelector('button[data-pair=\"gpu0>gpu1\"]').click()")
            last = "Array.from(document.querySelectorAll('#map-curve {}')).pop().getAttribute('d')"
            speeds = browser.evaluate(last.format("path.line"))  # the pair did not change
            level = float(browser.evaluate(last.format("path.level")).split(",")[1].partition("H")[0])
            assert {float(place.split(",")[1]) for place in speeds[1:].split("L")} == {level}
            saved = browser.evaluate("document.querySelectorAll('.save').length")
            assert saved == browser.evaluate("document.querySelectorAll('.chart').length") + 2
            svg = "byteways.pictures[1].make('svg').then((made) => made.text())"
            told = "".join(ElementTree.fromstring(browser.evaluate(svg)).itertext())
            assert browser.evaluate("byteways.pictures[1].title()") in told
            assert browser.console == []
            browser.evaluate("document.getElementById('unfold').click()")
            assert violations(browser) == []
