"""What the SVG and PNG buttons of plots and of the node give."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from byteways.report import write_report
from tests.report import sample_run
from tests.report.browser import IN_BROWSER, Browser

pytestmark = IN_BROWSER

#: Title and content of a picture, as a data URL.
SAVED = """(async (index, kind) => {
  const one = byteways.pictures[index], made = await one.make(kind), reader = new FileReader();
  return new Promise((done) => {
    reader.onload = () => done([one.title(), reader.result]);
    reader.readAsDataURL(made);
  });
})"""


def saved(browser: Browser, index: int, kind: str) -> tuple[str, bytes]:
    title, address = browser.evaluate(f"{SAVED}({index}, '{kind}')")
    return title, base64.b64decode(address.partition(",")[2])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = sample_run.h200x4(sizes=(sample_run.MIB, sample_run.GIB))
    build.simulated = True
    return write_report(build.write(tmp_path_factory.mktemp("saved")))


def test_pictures_stand_for_themselves(report: Path) -> None:
    """Would catch an SVG that needs the page's style sheet, one without its title, or a simulated one that
    does not say so.
    """
    with Browser() as browser:
        browser.open(report)
        for index in (0, 1):  # the node, and a plot
            title, content = saved(browser, index, "svg")
            whole = ElementTree.fromstring(content.decode())
            told = "".join(whole.itertext())
            assert title.split(":")[0] in told
            assert "SIMULATED" in told
            assert "var(--" not in content.decode()
            assert whole.findall(".//*[@class='reach']") == []
            _, picture = saved(browser, index, "png")
            assert picture.startswith(b"\x89PNG")
            wide, high = struct.unpack(">II", picture[16:24])
            assert wide >= 800 and high >= 400
        buttons = "document.querySelectorAll('.save').length"
        charts = "document.querySelectorAll('.chart').length"
        assert browser.evaluate(buttons) == browser.evaluate(charts) + 2  # the node, and the selected pair
        assert browser.console == []
