"""The report by the rules of axe-core, in light and dark, with everything open."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from byteways.report import write_report
from tests.report import sample_run
from tests.report.browser import IN_BROWSER, Browser

pytestmark = IN_BROWSER

#: Impacts by axe-core's own scale.
GRAVE = ("serious", "critical")


def violations(browser: Browser) -> list[str]:
    """What axe-core finds, with the first element of each."""
    script = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    browser.evaluate(f"{script}; 0")
    found = browser.evaluate("axe.run(document).then(done => JSON.stringify(done.violations))")
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in json.loads(found) if one["impact"] in GRAVE]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = sample_run.MIB, sample_run.GIB
    return write_report(sample_run.h200x4(sizes=sizes).write(tmp_path_factory.mktemp("axe")))


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_serious_is_found(report: Path, dark: bool) -> None:
    """Would catch a control without a name, text without contrast, or a table without headings."""
    with Browser(dark=dark, width=1400) as browser:
        browser.open(report)
        browser.evaluate("document.getElementById('unfold').click()")
        browser.evaluate("byteways.drawAll()")
        assert violations(browser) == []


def test_axe_sees_a_fault(report: Path) -> None:
    """Would catch the test above going blind."""
    with Browser() as browser:
        browser.open(report)
        browser.evaluate("document.getElementById('theme').outerHTML = '<button></button>'")
        assert violations(browser) == ["button-name: <button></button>"]
