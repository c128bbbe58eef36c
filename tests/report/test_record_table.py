"""The table of all records in a real browser: search, order, filters, and what is copied."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from byteways.record.exporters import FORMATS
from byteways.report import write_report
from tests.report import sample_run
from tests.report.browser import IN_BROWSER, Browser

pytestmark = IN_BROWSER

LINES = "document.querySelectorAll('#records-table tr[data-row]')"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Path]]:
    with Browser(width=1400) as browser:
        yield browser, write_report(sample_run.h200x4().write(tmp_path_factory.mktemp("table")))


@pytest.fixture
def browser(shared: tuple[Browser, Path]) -> Browser:
    """The browser with the table freshly opened."""
    browser, report = shared
    browser.open(report)
    browser.evaluate("document.querySelector('#data > details').open = true")
    browser.evaluate("byteways.records.build()")
    return browser


def column(browser: Browser, heading: str) -> list[str]:
    """The texts of a column, of the rows in view."""
    told = browser.evaluate(
        "(() => { const heads = document.querySelectorAll('#records-table th');"
        f"const at = Array.from(heads, h => h.textContent).indexOf({json.dumps(heading)});"
        f"return Array.from({LINES}, row => row.cells[at].textContent); }})()"
    )
    return list(told)


def count(browser: Browser) -> Any:
    return browser.evaluate("document.getElementById('records-count').textContent")


def search(browser: Browser, text: str) -> None:
    browser.evaluate(
        f"(() => {{ const box = document.getElementById('records-search'); box.value = {json.dumps(text)};"
        "box.dispatchEvent(new Event('input')); })()"
    )
    browser.evaluate("new Promise(done => setTimeout(done, 300))")


def test_only_rows_in_view_exist(browser: Browser) -> None:
    """Would catch a table that puts all rows into the page, or that shows the same ones after scrolling."""
    assert count(browser) == "1,770 records"
    assert 10 < browser.evaluate(f"{LINES}.length") < 60
    first = browser.evaluate(f"{LINES}[0].dataset.row")
    browser.evaluate("document.getElementById('records-scroll').scrollTop = 20000")
    browser.evaluate("new Promise(done => setTimeout(done, 300))")
    assert browser.evaluate(f"{LINES}[0].dataset.row") != first
    assert 10 < browser.evaluate(f"{LINES}.length") < 60
    assert browser.console == []


def test_search_needs_every_word(browser: Browser) -> None:
    """Would catch a search in one column only, or words that add rows."""
    search(browser, "gpu2>gpu3 KERNEL write")
    assert count(browser) == "18 of 1,770 records"
    assert set(column(browser, "path")) == {"gpu2>gpu3"}
    assert set(column(browser, "interface")) == {"kernel"}
    search(browser, "gpu2>gpu3 <img>")
    assert count(browser) == "0 of 1,770 records"


def test_filters_and_order(browser: Browser) -> None:
    """Would catch a filter that changes the values of a column, or an order by text instead of number."""
    browser.evaluate(
        "(() => { const list = document.querySelector('[data-filter=interface]'); list.value = 'copy';"
        "list.dispatchEvent(new Event('change')); })()"
    )
    assert set(column(browser, "interface")) == {"copy"}
    buttons = "Array.from(document.querySelectorAll('#records-table th button'))"
    heading = f"{buttons}.find(b => b.textContent === 'size')"
    for direction, expected in (("ascending", "4 KiB"), ("descending", "1 GiB")):
        browser.evaluate(f"{heading}.click()")
        assert browser.evaluate(f"{heading}.parentElement.getAttribute('aria-sort')") == direction
        assert set(column(browser, "size")) == {expected}


def test_a_row_shows_all_its_fields(browser: Browser) -> None:
    """Would catch details of another row, by pointer or by keyboard."""
    browser.evaluate(f"{LINES}[3].cells[0].click()")
    told = "document.getElementById('records-detail').textContent"
    assert browser.evaluate(told).startswith("Record 4: ")
    browser.evaluate("document.getElementById('records-scroll').focus()")
    browser.press("ArrowDown")
    assert browser.evaluate(told).startswith("Record 5: ")
    assert "time_median_ns" in browser.evaluate(told)


def parsed(text: str) -> list[list[Any]]:
    """Fields of CSV, numbers and JSON as such: how floats end is each language's own."""

    def read(field: str) -> Any:
        try:
            return json.loads(field)
        except ValueError:
            return field

    return [[read(field) for field in row] for row in csv.reader(io.StringIO(text))]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return one == pytest.approx(other, rel=1e-5)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    return bool(one == other)


def test_csv_is_that_of_the_export(browser: Browser) -> None:
    """Would catch a copy that differs from `byteways export`, or that ignores the search."""
    build = sample_run.h200x4()
    out = io.StringIO()
    FORMATS["csv"].write(build.manifest(), build.records, out)
    here, there = parsed(browser.evaluate("byteways.download('csv')")), parsed(out.getvalue())
    assert len(here) == len(there) == 1771
    assert all(map(same, chain.from_iterable(here), chain.from_iterable(there)))
    search(browser, "kernel-bulk gpu0>gpu1")
    assert len(browser.evaluate("byteways.records.copy()").splitlines()) == 1 + 18
    assert browser.console == []


def test_json_has_all_records(browser: Browser) -> None:
    """Would catch a download of what is in view only, or nested fields as text."""
    data = json.loads(browser.evaluate("byteways.download('json')"))
    assert data["manifest"]["run_id"] == "feedc0de"
    assert len(data["records"]) == 1770
    assert data["records"][0]["flows"][0]["source"] == "gpu0:device"
    assert browser.console == []
