"""The page on two runs: what stands on it, and in a browser that it is silent, offline and usable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from byteways.report import write_comparison
from byteways.report.compared import ComparedPage, from_comparison
from byteways.report.render import render_compared
from byteways.verdicts.two_runs.comparison import compare_runs
from tests.report.browser import IN_BROWSER, Browser
from tests.report.run_builder import HOSTILE
from tests.unit.verdicts.test_comparison import folder_of, pairs_run


def page_of(base: Path, *, simulated: bool = False, name: str = "slow") -> ComparedPage:
    """A healthy run, and one whose gpu2 is slow."""
    builds = pairs_run(), pairs_run(lambda a, b: 200.0 if "gpu2" in (a, b) else 396.0)
    for build in builds:
        build.simulated = simulated
    host = {**builds[0].manifest()["host"], "kernel": "6.2"}
    runs = [folder_of(builds[0], base / "healthy"), folder_of(builds[1], base / "slow", host=host)]
    (compared,) = compare_runs(runs, ["healthy", name])
    return from_comparison(runs, compared)


def test_the_page_says_what_changed(tmp_path: Path) -> None:
    """Would catch a title without its result, or the environment below the cases."""
    page = page_of(tmp_path)
    assert page.title == "4 × H200: 12 of 24 cases slower, none faster"
    assert page.links == ("Link gpu2 – nvswitch: -49.5 %, 396 GB/s and now 200 GB/s by copy",)
    text = render_compared(page)
    assert text.index('id="environment"') < text.index('id="map"') < text.index('id="cases"')
    assert re.search(r"<th scope=\"row\">kernel</th><td>[^<]+</td><td>6.2</td>", text)
    assert len(page.changes) == page.differing == 12
    assert "SIMULATED" not in re.sub(r"<style.*?</style>", "", text, flags=re.S)


def test_a_simulated_page_says_so_and_claims_nothing(tmp_path: Path) -> None:
    """Would catch simulated differences that could be taken for measured ones."""
    page = page_of(tmp_path, simulated=True)
    text = render_compared(page)
    assert text.count("SIMULATED") >= 6
    assert not re.search(r"measured(?!\))", re.sub(r"<(style|script).*?</\1>", "", text, flags=re.S))


def test_names_are_text(tmp_path: Path) -> None:
    """Would catch the name of a folder that runs as script."""
    assert "<img" not in render_compared(page_of(tmp_path, name=HOSTILE))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("compared")
    slow = pairs_run(lambda a, b: 200.0 if "gpu2" in (a, b) else 396.0)
    runs = [folder_of(pairs_run(), base / "healthy"), folder_of(slow, base / "slow")]
    return write_comparison(runs, names=["healthy", "slow"])


@pytest.fixture
def browser(shared: Browser, written: Path) -> Browser:
    shared.open(written)
    return shared


class TestInBrowser:
    pytestmark = IN_BROWSER

    def test_silent_and_offline(self, browser: Browser) -> None:
        """Would catch a script error, or anything that is fetched."""
        browser.evaluate("document.getElementById('unfold').click()")
        assert browser.console == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []

    def test_the_link_selects_its_pair(self, browser: Browser) -> None:
        """Would catch a picture and a map that do not speak of the same pair."""
        link = "document.querySelector('.link[data-link=\"gpu2 – nvswitch\"]')"
        browser.evaluate(f"{link}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        title = browser.evaluate("document.getElementById('map-title').textContent")
        assert re.fullmatch(r"(gpu2 > gpu\d|gpu\d > gpu2): 2 of 2 cases differ", title)
        rows = "Array.from(document.querySelectorAll('#map-cases tbody tr'), r => r.cells[2].textContent)"
        assert browser.evaluate(rows) == ["−49.5 %", "−49.5 %"]

    def test_map_has_the_change_of_each_pair(self, browser: Browser) -> None:
        """Would catch a change in the wrong cell, or noise that is coloured."""
        browser.evaluate("document.querySelector('button[data-pair=\"gpu0>gpu1\"]').click()")
        cells = (
            "Array.from(document.querySelectorAll('#map-table tbody tr'), "
            "r => Array.from(r.cells).slice(1).map(c => c.textContent))"
        )
        assert browser.evaluate(cells) == [
            ["·", "=", "−49.5", "="],
            ["=", "·", "−49.5", "="],
            ["−49.5", "−49.5", "·", "−49.5"],
            ["=", "=", "−49.5", "·"],
        ]
        assert browser.evaluate("location.hash").startswith("#pair=gpu0%3Egpu1&size=1+GiB")

    @pytest.mark.parametrize("dark", [False, True])
    def test_nothing_serious_is_found(self, written: Path, dark: bool) -> None:
        """Would catch a control without a name, or text without contrast."""
        from tests.report.test_accessible import violations

        with Browser(dark=dark) as browser:
            browser.open(written)
            browser.evaluate("document.getElementById('unfold').click()")
            assert violations(browser) == []

    def test_a_phone_does_not_scroll_sideways(self, written: Path) -> None:
        """Would catch a page wider than the screen."""
        with Browser(width=500, height=844) as browser:
            browser.call(
                "Emulation.setDeviceMetricsOverride",
                {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
            )
            browser.open(written)
            assert browser.evaluate("document.documentElement.scrollWidth") <= 390
