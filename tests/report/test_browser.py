"""The report in a real browser: silent, offline, and doing what its buttons say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from byteways.report import write_report
from scripts.unpack_examples import recorded
from tests.cli.called import byteways
from tests.report import rank_runs, sample_run
from tests.report.browser import IN_BROWSER, Browser
from tests.report.run_builder import Builder
from tests.report.sample_run import HOSTILE
from tests.report.test_page import SCRIPTS

pytestmark = IN_BROWSER

#: Of the sample run's report.
CHARTS = 13
UNFOLD = "document.getElementById('unfold').click()"
FIRST_CELL = "document.querySelector('#patterns td[data-tip] span').textContent"


def background(browser: Browser) -> str:
    return str(browser.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_silent_and_offline(browser: Browser) -> None:
    """Would catch a script error, or anything that is fetched."""
    browser.evaluate("byteways.drawAll()")
    browser.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    assert browser.console == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
    assert browser.evaluate("performance.getEntriesByType('resource').map(e => e.name)") == []


@pytest.mark.parametrize("build", [rank_runs.sent, rank_runs.of_all])
def test_reports_of_ranks_are_silent(shared: Browser, build: Callable[[], Builder], tmp_path: Path) -> None:
    """Would catch a chart of messages or collectives that the page cannot draw."""
    shared.open(write_report(build().write(tmp_path)))
    shared.evaluate("byteways.drawAll()")
    assert shared.console == []
    drawn = "document.querySelectorAll('.chart svg.lines').length"
    assert shared.evaluate(drawn) > 0


def test_a_request_would_be_seen(browser: Browser) -> None:
    """Would catch the test above going blind: a fetch is refused by the page's policy and is reported."""
    browser.evaluate("fetch('https://example.invalid/').catch(() => 0)")
    browser.evaluate("new Promise(done => setTimeout(done, 200))")
    assert any("example.invalid" in message for message in browser.console)


def test_toggle_changes_the_numbers(browser: Browser) -> None:
    """Would catch a toggle that changes only colours or headings."""
    browser.evaluate("byteways.filled")
    assert browser.evaluate(FIRST_CELL) == "784"
    browser.evaluate("document.querySelector('#patterns [data-numbers=percent]').click()")
    assert browser.evaluate(FIRST_CELL) == "87.1 %"
    assert browser.evaluate("document.querySelector('#patterns h3 span').textContent") == "% of peak"
    pressed = "document.querySelector('#patterns [data-numbers=percent]').getAttribute('aria-pressed')"
    assert browser.evaluate(pressed) == "true"
    browser.evaluate("document.querySelector('#patterns [data-numbers=absolute]').click()")
    assert browser.evaluate(FIRST_CELL) == "784"


def test_charts_are_drawn_when_scrolled_to(browser: Browser) -> None:
    """Would catch charts that are all drawn at once, or never."""
    places = browser.evaluate("byteways.places.length")
    assert places == CHARTS
    assert browser.evaluate("byteways.drawn.size") < places
    last = "byteways.places[byteways.places.length - 1]"
    browser.evaluate("document.querySelector('.contents a[href=\"#latency\"]').click()")
    browser.evaluate(f"{last}.scrollIntoView()")
    for _ in range(50):
        if browser.evaluate(f"byteways.drawn.has({last})"):
            break
        browser.evaluate("new Promise(done => setTimeout(done, 100))")
    assert browser.evaluate(f"{last}.querySelectorAll('svg.lines .mark').length") > 0


def test_all_charts_are_drawn_before_printing(browser: Browser, tmp_path: Path) -> None:
    """Would catch paper with empty frames."""
    browser.evaluate(UNFOLD)
    browser.evaluate("byteways.unpacked()")
    browser.pdf(tmp_path / "report.pdf")
    marks = "svg.lines :is(.line, .mark, .bar, .cell)"
    drawn = f"byteways.places.filter(p => p.querySelector({marks!r})).length"
    assert browser.evaluate(drawn) == CHARTS
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    assert browser.console == []


def test_dark_mode(browser: Browser) -> None:
    """Would catch a button that does nothing, or charts that stay bright."""
    browser.evaluate("byteways.drawAll()")
    ink = "getComputedStyle(byteways.places[0].querySelector('.tick')).fill"
    light, light_ink = background(browser), browser.evaluate(ink)
    browser.evaluate("document.getElementById('theme').click()")
    assert background(browser) != light
    assert browser.evaluate(ink) != light_ink
    browser.evaluate("document.getElementById('theme').click()")
    assert background(browser) == light


def test_dark_mode_follows_the_system(report: Path) -> None:
    """Would catch a bright page on a dark desktop, and a dark one on paper."""
    with Browser(dark=True) as browser:
        browser.open(report)
        assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
        dark = background(browser)
        browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert background(browser) != dark
        browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert background(browser) == dark


def test_keyboard(browser: Browser) -> None:
    """Would catch controls that cannot be reached, cells without a tooltip, or focus that is not seen."""
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.textContent") == "Skip to the findings"
    browser.evaluate(UNFOLD)
    browser.evaluate("byteways.filled")
    browser.evaluate("document.querySelector('#patterns [data-numbers=percent]').focus()")
    browser.press("Enter")
    assert browser.evaluate(FIRST_CELL) == "87.1 %"
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.tagName") == "TD"
    browser.press("ArrowRight")
    browser.press("ArrowDown")
    tip = browser.evaluate("document.getElementById('tip').textContent")
    assert tip.startswith("copy bidirectional")
    assert "3 rounds" in tip and "n = 90" in tip
    assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("Escape")
    assert browser.evaluate("document.getElementById('tip').hidden") is True
    browser.press("Tab")  # one stop a table: the next one is in another table
    assert (
        browser.evaluate("document.activeElement.closest('table') === document.querySelector('.grid')")
        is False
    )


def test_hostile_names_are_inert(shared: Browser, tmp_path: Path) -> None:
    """Would catch a device, host, suite or warning whose name runs as script, in the page or in a chart."""
    build = sample_run.h200x4(sizes=(sample_run.MIB, sample_run.GIB))
    build.topology = sample_run.topology(4, gpu_model=HOSTILE, host=HOSTILE)
    build.suite_title = HOSTILE
    warning = Warning(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    for size in (sample_run.MIB, sample_run.GIB):
        flow = [("gpu0:device", "gpu1:device", "gpu0")]
        build.measure("copy", flow, 440.0, size=size, options={"note": HOSTILE}, warnings=[warning])
    build.lose("failed", HOSTILE, "copy", [("gpu0:device", "gpu1:device", "gpu0")], size=12345)
    shared.open(write_report(build.write(tmp_path)))
    shared.evaluate("byteways.drawAll()")
    assert shared.evaluate("document.title") != "owned"
    assert shared.evaluate("document.images.length") == 0
    assert shared.evaluate("document.scripts.length") == SCRIPTS
    assert shared.console == []
    assert "</script>" in shared.evaluate("document.querySelector('h1').textContent")
    told = "document.querySelector('svg.lines [data-details*=script]').dataset.details"
    assert "</script>" in shared.evaluate(told)


def test_big_run_opens_quickly(shared: Browser, tmp_path: Path) -> None:
    """Would catch a page of thousands of records that takes CPU seconds to open (here well under 3)."""
    build = sample_run.h200x4(gpus=8, rounds=3)
    assert len(build.records) > 6000
    seconds = shared.open(write_report(build.write(tmp_path)))
    assert 0 < seconds < 3
    assert shared.console == []


def test_narrow_window_does_not_scroll_sideways(report: Path) -> None:
    """Would catch a table or picture that makes the whole page wider than a small window."""
    with Browser(width=520) as browser:
        browser.open(report)
        browser.evaluate(UNFOLD)
        browser.evaluate("byteways.drawAll()")
        wide, window = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= window


LEGEND_CLEAR = """byteways.places.every((place) => {
  const box = (one) => one.getBoundingClientRect();
  const boxes = (kind) => [...place.querySelectorAll(kind)].map(box);
  const svg = box(place.querySelector('svg')), plot = boxes('.rule, g[clip-path] .bar, .cell');
  const end = (side) => Math.max(...plot.map((one) => one[side])) - 1;
  const free = (one) => one.left >= end('right') || one.top >= end('bottom');
  const high = (one) => one.bottom <= svg.bottom + 1;
  const inside = (one) => one.right <= svg.right + 1 && one.left >= svg.left - 1 && high(one);
  return boxes('.entry text, text.entry').every(free) && boxes('text').every(inside);
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_legends_leave_the_plot_free(report: Path, width: int) -> None:
    """Would catch a legend over the curves of a narrow screen, or one that leaves the chart."""
    with Browser() as browser:
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        browser.call("Emulation.setDeviceMetricsOverride", size)
        browser.open(report)
        browser.evaluate(UNFOLD)
        browser.evaluate("byteways.drawAll()")
        assert browser.evaluate("document.querySelectorAll('svg.lines .entry').length") > 0
        assert browser.evaluate(LEGEND_CLEAR) is True
        assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_legends_move_when_the_window_does(report: Path) -> None:
    """Would catch a phone that is turned, or a window made narrow, with the legend where it was."""
    with Browser() as browser:
        browser.open(report)
        browser.evaluate(UNFOLD)
        browser.evaluate("byteways.drawAll()")
        size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        browser.call("Emulation.setDeviceMetricsOverride", size)
        for _ in range(50):
            if browser.evaluate(LEGEND_CLEAR):
                break
            browser.evaluate("new Promise(done => setTimeout(done, 100))")
        assert browser.evaluate(LEGEND_CLEAR) is True


def test_paper_has_what_is_open(browser: Browser) -> None:
    """Would catch printing that opens or closes parts by itself."""
    opened = "Array.from(document.querySelectorAll('details'), part => part.open).join()"
    browser.evaluate("document.querySelector('#patterns > details').open = true")
    before = browser.evaluate(opened)
    browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(opened) == before
    browser.evaluate("window.dispatchEvent(new Event('afterprint'))")


def screen(browser: Browser, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.call("Emulation.setDeviceMetricsOverride", size)


def test_all_sections_open_are_a_page_to_look_through(shared: Browser, tmp_path: Path) -> None:
    """Would catch tables, charts or findings that are shown without end where a run has many of them."""
    screen(shared, 1400, 900)
    shared.open(write_report(RunFolder(recorded("h200x4-rounds/full")), tmp_path / "report.html"))
    shared.evaluate(UNFOLD)
    assert shared.evaluate("document.querySelectorAll('details.fold:not([open])').length") == 0
    assert 10_000 < shared.evaluate("document.documentElement.scrollHeight") <= 20_000
    shared.call("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize("gpus", [2, 4, 8, 16])
def test_essentials_are_six_screens(shared: Browser, tmp_path: Path, gpus: int) -> None:
    """Would catch a page that grows with the machine, or whose first screen has to be scrolled."""
    path = write_report(sample_run.h200x4(gpus=gpus, sizes=(sample_run.MIB, sample_run.GIB)).write(tmp_path))
    for width, height in ((1400, 900), (390, 844)):
        screen(shared, width, height)
        shared.open(path)
        assert shared.evaluate("document.getElementById('node').getBoundingClientRect().bottom") <= height
        assert shared.evaluate("document.documentElement.scrollWidth") <= width
        if width == 1400:
            assert shared.evaluate("document.documentElement.scrollHeight") <= 6 * height
    shared.call("Emulation.clearDeviceMetricsOverride")


def test_the_findings_of_a_large_node_fit_the_first_screen(shared: Browser, tmp_path: Path) -> None:
    """Would catch a third finding that has to be scrolled to: this node's are the longest."""
    assert byteways(tmp_path, "run", "quick", "--machine", "frontier-mi250x", "--out", "run").returncode == 0
    items = "document.querySelectorAll('.findings.top li')"
    for width, height in ((1400, 900), (390, 844)):
        screen(shared, width, height)
        shared.open(tmp_path / "run" / "report.html")
        found = shared.evaluate(f"Array.from({items}, (item) => item.getBoundingClientRect().bottom)")
        assert len(found) == 3
        assert max(found) <= height
    shared.call("Emulation.clearDeviceMetricsOverride")


def test_a_finding_leads_to_its_evidence(browser: Browser) -> None:
    """Would catch a link to results that stay folded, or to a pair that is not selected or not in view."""
    links = "Array.from(document.querySelectorAll('.findings.top a.evidence'))"
    folded = browser.evaluate("document.querySelector('[id] > details.fold:not([open])').parentElement.id")
    part = f"document.querySelector('#{folded} > details')"
    link = f"Object.assign(document.createElement('a'), {{href: '#{folded}'}})"
    browser.evaluate(f"document.body.appendChild({link}).click()")
    browser.evaluate("new Promise(done => setTimeout(done, 50))")
    assert browser.evaluate(f"{part}.open") is True
    selects = f"{links}.find((link) => link.hash.startsWith('#pair='))"
    pair = browser.evaluate(f"new URLSearchParams({selects}.hash.slice(1)).get('pair')")
    for _ in range(2):  # the second time, the address stays as it is
        browser.evaluate(f"window.scrollTo(0, 0), {selects}.click()")
        browser.evaluate("new Promise(done => setTimeout(done, 50))")
        assert browser.evaluate("byteways.state.pair") == pair
        assert browser.evaluate("scrollY") > 0


def test_links_are_told_by_keyboard(browser: Browser) -> None:
    """Would catch rates that only a pointer can read."""
    assert browser.evaluate("document.querySelectorAll('svg.node .link[tabindex=\"0\"]').length") == 1
    browser.evaluate("document.querySelector('svg.node .link[tabindex=\"0\"]').focus()")
    first = browser.evaluate("document.getElementById('tip').textContent")
    assert "NVLink4 ×18" in first and "396 GB/s (88 %)" in first
    browser.press("ArrowRight")
    assert browser.evaluate("document.getElementById('tip').textContent") != first
    assert browser.evaluate("document.activeElement.getAttribute('aria-label')").startswith("gpu")


def test_paper_has_the_essentials(browser: Browser, tmp_path: Path) -> None:
    """Would catch a print-out that is as long as the whole page, or the layout of a phone on paper."""
    browser.pdf(tmp_path / "report.pdf")
    pages = (tmp_path / "report.pdf").read_bytes().count(b"/Type /Page\n")
    assert 1 <= pages <= 2
