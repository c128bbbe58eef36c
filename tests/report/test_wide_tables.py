"""Tables wider than the page, and charts on paper, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from byteways.report import write_report
from tests.report import sample_run
from tests.report.browser import IN_BROWSER, Browser

pytestmark = IN_BROWSER

CORES = 32
WIDEST = """Math.max(...Array.from(document.querySelectorAll('main table'),
  (table) => table.getBoundingClientRect().right))"""
#: Waits for the tables that the page places when it has time.
PLACED = """new Promise((done) => {
  const look = () => document.querySelector('.grid.many') ? done() : setTimeout(look, 20); look(); })"""
#: A4 across, without its margins of 12 mm, in CSS pixels.
PAPER = 1032


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every section, and a matrix of 32 by 32 cores."""
    build = sample_run.h200x4()
    ends = [("cpu0:pageable", "cpu0:pageable", "cpu0")]
    for core in range(CORES):
        for partner in range(core):
            build.measure(
                "ping-pong",
                ends,
                0.0,
                size=8,
                cache="warm",
                latency_ns=290.0,
                partner="cpu0",
                options={"core": core, "partner_core": partner},
            )
    return write_report(build.write(tmp_path_factory.mktemp("cores")))


@pytest.fixture
def browser(report: Path) -> Iterator[Browser]:
    with Browser() as browser:
        browser.open(report)
        yield browser


def test_a_wide_table_scrolls_in_its_box(browser: Browser) -> None:
    """Catches columns that nobody can reach, a page that is pushed wide, and row names that scroll away."""
    browser.evaluate(PLACED)
    box = "document.querySelector('.grid.many').parentElement"
    wide, shown = browser.evaluate(f"[{box}.scrollWidth, {box}.clientWidth]")
    assert wide > shown
    name = "document.querySelector('.grid.many tbody th').getBoundingClientRect().left"
    before = browser.evaluate(name)
    browser.evaluate(f"{box}.scrollLeft = 200")
    assert browser.evaluate(f"{box}.scrollLeft") > 0
    assert abs(browser.evaluate(name) - before) < 4
    assert browser.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_tables_and_charts_fit_the_paper(browser: Browser) -> None:
    """Catches columns beyond the edge of the paper, and charts that are drawn over what follows them."""
    size = {"width": PAPER, "height": 700, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", size)
    browser.call("Emulation.setEmulatedMedia", {"media": "print"})
    browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    browser.evaluate("byteways.drawAll()")
    assert browser.evaluate(WIDEST) <= PAPER
    over = """byteways.places.filter((place) => {
      const chart = place.querySelector('svg.lines').getBoundingClientRect();
      return chart.bottom > place.getBoundingClientRect().bottom + 1;
    }).length"""
    assert browser.evaluate(over) == 0
