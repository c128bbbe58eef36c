"""The figures of a study in a real browser: drawn without an error, on wide and narrow windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.called import byteways
from tests.report.browser import IN_BROWSER, Browser

pytestmark = IN_BROWSER

#: Tops of the titles of the vertical axes.
TITLES = """Array.from(document.querySelectorAll('#study-fig2a .axis[transform]'),
  (one) => [one.textContent, one.getBoundingClientRect().top])"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    filters = ("--only", "sweep=peers*|managed-peers|*-pinned|*-pageable|domains-from")
    done = byteways(folder, "reproduce", "pearson2023", "--machine", "crusher-mi250x", *filters, "--out", "R")
    assert done.returncode == 0, done.stderr
    return folder / "R" / "report.html"


@pytest.fixture(scope="module", params=[1280, 500])
def browser(request: pytest.FixtureRequest, report: Path) -> Iterator[Browser]:
    with Browser(width=request.param) as browser:
        browser.open(report)
        browser.evaluate("document.getElementById('study').querySelector('details').open = true")
        browser.evaluate("byteways.drawAll()")
        yield browser


def test_figures_are_drawn_in_silence(browser: Browser) -> None:
    """Catches a script that fails on a figure whose title stands above several charts, and an empty chart."""
    assert browser.console == []
    empty = (
        "Array.from(document.querySelectorAll('#study .chart')).filter((c) => !c.querySelector('svg')).length"
    )
    assert browser.evaluate(empty) == 0
    assert browser.evaluate("document.querySelectorAll('#study .exhibit .chart').length") >= 4
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.evaluate(wide) <= 0


def test_ratios_are_below_the_plot(browser: Browser) -> None:
    """Catches a panel that is drawn over the curves, or not at all."""
    (main, ratios) = browser.evaluate(TITLES)
    assert (main[0], ratios[0]) == ("GB/s", "ratio") and main[1] < ratios[1]


def test_a_verdict_tells_its_sentence(browser: Browser) -> None:
    """Catches verdicts that say nothing of their claim to pointer and keyboard."""
    browser.evaluate("document.querySelector('#study-fig2a .chip').focus()")
    browser.evaluate("byteways.filled")  # the details of cells are unpacked after the first view
    told = browser.evaluate("document.getElementById('tip').textContent")
    assert "GB/s" in told or "%" in told or "“" in told


def test_charts_can_be_saved_under_their_own_titles(browser: Browser) -> None:
    """Catches two pictures of one name, and a button that fails."""
    titles = browser.evaluate("byteways.pictures.map((one) => one.title())")
    assert "GCD to GCD, quad link (Fig. 2a)" in titles
