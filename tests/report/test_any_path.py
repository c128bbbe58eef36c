""" "Any path" of the report in a real browser: its map, its switches, the selection and the address."""

from __future__ import annotations

from pathlib import Path

from byteways.report import write_report
from tests.report import sample_run
from tests.report.browser import IN_BROWSER, Browser

pytestmark = IN_BROWSER

TITLE = "document.getElementById('explore-title').textContent"
ROWS = "Array.from(document.querySelectorAll('#explore-ways tbody th'), th => th.textContent)"


def map_of(browser: Browser, pair: str) -> str:
    return f"document.querySelector('#explore-map button[data-pair=\"{pair}\"]')"


def test_a_pair_is_one_click(browser: Browser) -> None:
    """Would catch a map whose cells select nothing, or ranked ways of another pair."""
    browser.evaluate(f"{map_of(browser, 'gpu2>gpu3')}.click()")
    assert browser.evaluate(TITLE) == "gpu2 > gpu3 at 1 GiB, NVLink4 ×18"
    assert browser.evaluate(ROWS) == [
        "copy issued by the source",
        "copy issued by the destination",
        "kernel issued by the destination",
        "kernel issued by the source",
        "kernel-bulk issued by the destination",
    ]
    assert browser.evaluate(f"{map_of(browser, 'gpu2>gpu3')}.getAttribute('aria-pressed')") == "true"
    lit = "Array.from(document.querySelectorAll('svg.node .link.selected'), link => link.dataset.link)"
    assert sorted(browser.evaluate(lit)) == ["gpu2 – nvswitch", "gpu3 – nvswitch"]
    curves = "document.querySelectorAll('#explore-curve path.line').length"
    assert browser.evaluate(curves) >= 4
    assert browser.console == []


def test_a_link_of_the_picture_selects_its_pair(browser: Browser) -> None:
    """Would catch a picture that only shows."""
    link = "document.querySelector('svg.node .link[data-link=\"gpu1 – cpu0\"]')"
    browser.evaluate(f"{link}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert browser.evaluate(TITLE).startswith("gpu1 > cpu0 at 1 GiB, PCIe 5.0 ×16")


def test_switches_of_the_map(browser: Browser) -> None:
    """Would catch a switch that changes colours or headings only."""
    cell = map_of(browser, "gpu0>gpu1")
    assert browser.evaluate(f"{cell}.textContent") == "396"
    browser.evaluate("document.querySelector('[data-share=\"1\"]').click()")
    assert browser.evaluate(f"{cell}.textContent") == "88.0"
    browser.evaluate("document.querySelector('[data-share=\"0\"]').click()")
    browser.evaluate("document.querySelector('[data-both=\"1\"]').click()")
    assert browser.evaluate(f"{cell}.textContent") == "784"
    assert browser.evaluate(TITLE) == "gpu0 and gpu1 at 1 GiB, NVLink4 ×18, sum of both directions"
    browser.evaluate("document.querySelector('[data-both=\"0\"]').click()")
    browser.evaluate(
        "(() => { const list = document.getElementById('explore-way');"
        "list.value = Array.from(list.options)"
        ".find(o => o.text === 'kernel issued by the destination').value;"
        "list.dispatchEvent(new Event('change')); })()"
    )
    assert browser.evaluate(f"{cell}.textContent") == "375"


def test_any_way_of_an_interface(browser: Browser) -> None:
    """Would catch a map that "copy" empties, because the only copy without settings is within a GPU."""
    choose = (
        "(text => { const list = document.getElementById('explore-way');"
        "list.value = Array.from(list.options).find(o => o.text === text).value;"
        "list.dispatchEvent(new Event('change')); })"
    )
    numbers = "Array.from(document.querySelectorAll('#explore-map button'), b => b.textContent)"
    across = map_of(browser, "gpu0>gpu1")
    browser.evaluate(f"{choose}('any copy')")
    assert browser.evaluate(f"{across}.textContent") == "396"  # the faster of reads and writes
    assert "·" not in browser.evaluate(numbers)
    assert browser.evaluate("byteways.state.way") == browser.evaluate(
        "(location.hash = '#pair=gpu0>gpu1&interface=copy', byteways.state.way)"
    )
    browser.evaluate(f"{choose}('any kernel')")
    assert browser.evaluate(f"{across}.textContent") == "375"
    assert browser.evaluate("document.querySelectorAll('#explore-ways tr.chosen').length") == 2
    browser.evaluate(f"{choose}('copy, without settings')")
    assert browser.evaluate(f"{across}.textContent") == "·"
    assert browser.console == []


def test_another_direction_has_its_own_sizes(shared: Browser, tmp_path: Path) -> None:
    """Would catch an empty map where both directions were measured at another size than one."""
    build = sample_run.four_pairs()  # at 1 GiB
    flows = [("gpu0:device", "gpu1:device", "gpu0"), ("gpu1:device", "gpu0:device", "gpu1")]
    rates = {"gpu0>gpu1": 390.0, "gpu1>gpu0": 391.0}
    build.measure("copy", flows, rates, pattern="bidirectional", size=sample_run.MIB)
    build.measure("copy", flows[:1], 900.0, cache="warm", size=4 * sample_run.MIB)
    build.measure("copy", [("gpu1:device", "gpu2:device", "gpu2")], 200.0, size=sample_run.MIB)
    shared.open(write_report(build.write(tmp_path)))
    size = "document.getElementById('explore-size').selectedOptions[0].text"
    for switch, rate, chosen in (("both", "781", "1 MiB"), ("warm", "900", "4 MiB")):
        shared.evaluate(f"document.querySelector('[data-{switch}=\"1\"]').click()")
        assert shared.evaluate(f"{map_of(shared, 'gpu0>gpu1')}.textContent") == rate
        assert shared.evaluate(size) == chosen
        shared.evaluate(f"document.querySelector('[data-{switch}=\"0\"]').click()")
    assert shared.evaluate(size) == "1 GiB"
    shared.evaluate("byteways.select({size: 0})")  # 1 MiB, which most pairs lack
    assert shared.evaluate(f"{map_of(shared, 'gpu0>gpu1')}.textContent") == "·"
    shared.evaluate(f"{map_of(shared, 'gpu0>gpu1')}.click()")
    assert shared.evaluate(TITLE) == "gpu0 > gpu1 at 1 GiB, NVLink4 ×18 (the nearest size)"
    hidden = "document.querySelector('#explore-curve + .save').checkVisibility()"
    assert shared.evaluate("document.getElementById('explore-curve').hidden") is True
    assert shared.evaluate(hidden) is False  # no buttons for a chart that is not there
    assert shared.console == []


def test_all_ways_are_one_click(shared: Browser, tmp_path: Path) -> None:
    """Would catch ways that only the table of records has, or a list that stays long for the next pair."""
    build = sample_run.four_pairs()
    for blocks in range(1, 13):
        flow = [("gpu0:device", "gpu1:device", "gpu1")]
        build.measure("kernel", flow, 300.0 + blocks, peak=450, options={"blocks": blocks})
    shared.open(write_report(build.write(tmp_path)))
    shared.evaluate("byteways.select({pair: 'gpu0>gpu1'})")
    ways = "document.querySelectorAll('#explore-ways tbody th').length"
    assert shared.evaluate(ways) == 8
    assert shared.evaluate("document.querySelector('.more-ways').textContent") == "5 more methods"
    shared.evaluate("document.querySelector('.more-ways').click()")
    assert shared.evaluate(ways) == 13
    assert shared.evaluate("document.querySelector('.more-ways')") is None
    shared.evaluate("byteways.select({pair: 'gpu0>gpu2'}), byteways.select({pair: 'gpu0>gpu1'})")
    assert shared.evaluate(ways) == 8


def test_rates_far_apart_have_a_logarithmic_scale(shared: Browser, tmp_path: Path) -> None:
    """Would catch a slow link that looks like the others beside the memory of a package."""
    build = sample_run.four_pairs(slow=200.0)
    build.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 9000.0)
    shared.open(write_report(build.write(tmp_path)))
    shade = "Number({}.style.getPropertyValue('--v'))"
    slow, sound = (shared.evaluate(shade.format(map_of(shared, pair))) for pair in ("gpu1>gpu2", "gpu2>gpu1"))
    assert sound - slow > 10
    assert "logarithmic" in shared.evaluate("document.getElementById('explore-scale').textContent")


def test_reads_or_writes_only(browser: Browser) -> None:
    """Would catch a switch that leaves the map, the ways or their verdicts as they were, or mixes them up."""
    browser.evaluate("byteways.select({pair: 'gpu0>gpu1'})")
    browser.evaluate("document.querySelector('[data-access=read]').click()")
    assert browser.evaluate(f"{map_of(browser, 'gpu0>gpu1')}.textContent") == "394"
    assert browser.evaluate(ROWS) == [
        "copy issued by the destination",
        "kernel issued by the destination",
        "kernel-bulk issued by the destination",
    ]
    first = "document.querySelector('#explore-ways tbody tr').cells[4].textContent"
    assert browser.evaluate(first) != "fastest"
    assert "access=read" in browser.evaluate("location.hash")
    browser.evaluate("document.querySelector('[data-access=\"\"]').click()")
    assert browser.evaluate(f"{map_of(browser, 'gpu0>gpu1')}.textContent") == "396"


def test_the_records_of_a_pair_are_one_click(browser: Browser) -> None:
    """Would catch a link that shows the records of another pair or size."""
    browser.evaluate("byteways.select({pair: 'gpu2>gpu3'})")
    browser.evaluate("document.querySelector('#explore-ways button.link').click()")
    browser.evaluate("byteways.records.build()")
    for _ in range(50):
        if browser.evaluate("byteways.records.state.search") == "gpu2>gpu3":
            break
        browser.evaluate("new Promise(done => setTimeout(done, 100))")
    shown = "document.getElementById('records-count').textContent"
    assert browser.evaluate(shown) == "15 of 1,770 records"  # five ways in three rounds
    assert browser.evaluate("document.querySelector('#data > details').open") is True
    assert browser.console == []


def test_the_address_keeps_the_selection(shared: Browser, report: Path) -> None:
    """Would catch a link to a question that opens another one, or a foreign address that breaks the page."""
    shared.open(report)
    shared.evaluate("byteways.select({pair: 'cpu0>gpu3', share: 1})")
    kept = shared.evaluate("location.hash")
    shared.evaluate("location.hash = '#pair=gpu9%3E<img>&size=7'")
    shared.evaluate("new Promise(done => setTimeout(done, 50))")
    assert shared.evaluate(TITLE).startswith("cpu0 > gpu3 at 1 GiB")
    shared.evaluate("location.hash = ''")
    shared.evaluate("byteways.select({pair: 'gpu0>gpu1', share: 0})")
    shared.evaluate(f"location.hash = {kept!r}")
    shared.evaluate("new Promise(done => setTimeout(done, 50))")
    assert shared.evaluate(TITLE).startswith("cpu0 > gpu3 at 1 GiB")
    assert shared.evaluate("byteways.state.share") == 1
    assert shared.console == []


def test_the_map_by_keyboard(browser: Browser) -> None:
    """Would catch cells that only a pointer reaches."""
    browser.evaluate(f"{map_of(browser, 'gpu0>gpu1')}.focus()")
    browser.press("ArrowDown")
    browser.press("ArrowRight")
    browser.press("Enter")
    assert browser.evaluate("byteways.state.pair") == "gpu1>gpu2"
    assert browser.evaluate("document.activeElement.dataset.pair") == "gpu1>gpu2"
