"""The page model and what is written from it, without a browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from byteways.base.text import visible_data
from byteways.machine.model import Link, Topology
from byteways.questions.display.chart import ReferenceLine
from byteways.questions.display.numbers import moment
from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from byteways.report import write_report
from byteways.report.page import Page, from_run
from byteways.report.render import render, script_json
from tests.changed import replace
from tests.report import sample_run
from tests.report.sample_run import HOSTILE

#: Of a page without a table that is long enough to be packed, data: records, tips, charts, explorer;
#: code: page, axes, chart, parts, save, records, explore.
SCRIPTS = 11


def page(build: sample_run.Builder, folder: Path) -> Page:
    return from_run(RunFolder(build.write(folder)))


def html(build: sample_run.Builder, folder: Path) -> str:
    return write_report(build.write(folder)).read_text()


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all parts, and its page."""
    folder = sample_run.h200x4().write(tmp_path_factory.mktemp("gpus"))
    write_report(folder)
    return folder


@pytest.fixture(scope="module")
def gpus_html(gpus: Path) -> str:
    return (gpus / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def host_html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run of CPUs alone."""
    return html(sample_run.cpu_only(), tmp_path_factory.mktemp("host"))


class Outline(HTMLParser):
    """Elements and section ids of a page; the parser fails on nothing, so tests look at what it found."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def ids(self, tag: str) -> list[str | None]:
        return [attributes.get("id") for name, attributes in self.elements if name == tag]


def test_sections_without_data_are_left_out(host_html: str) -> None:
    """Would catch empty sections, or a contents bar that points nowhere."""
    outline = Outline(host_html)
    sections = outline.ids("section")
    assert sections == [
        "node",
        "recommended",
        "explore",
        "findings",
        "curves",
        "best",
        "latency",
        "not-measured",
        "machine",
        "reading",
        "method",
        "data",
    ]
    links = [attributes["href"] for tag, attributes in outline.elements if tag == "a"]
    contents = [f"#{name}" for name in sections]
    assert links[: 1 + len(contents)] == ["#findings", *contents]  # the first is "skip to the findings"
    of_findings = links[1 + len(contents) :]  # to their evidence
    assert all(link in contents or str(link).startswith("#pair=cpu0%3Ecpu0") for link in of_findings)


def test_numbers_of_headings_keep_their_units(gpus: Path) -> None:
    """Would catch '55.4' at the end of a line with 'GB/s' below, and markup that a heading brings along."""
    text = render(replace(from_run(RunFolder(gpus)), title="<b>8 GB/s</b>, 12.5 % of 100 GBs"), "")
    (heading,) = re.findall(r"<h1>(.*?)</h1>", text)
    assert heading == (
        '&lt;b&gt;<span class="quantity">8 GB/s</span>&lt;/b&gt;, '
        '<span class="quantity">12.5 %</span> of 100 GBs'
    )


def test_nothing_is_fetched(gpus_html: str) -> None:
    """Would catch a script, style, font or picture from elsewhere."""
    for tag, attributes in Outline(gpus_html).elements:
        for name in ("src", "srcset", "data", "action", "poster"):
            assert name not in attributes, f"<{tag} {name}={attributes[name]}>"
        if "href" in attributes:
            assert (attributes["href"] or "").startswith(("#", "data:,"))
    style = gpus_html[gpus_html.index("<style>") : gpus_html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in gpus_html


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    """Would catch any text of the machine, the suite or a record that reaches the page as markup."""
    build = sample_run.h200x4(sizes=(sample_run.MIB, sample_run.GIB))
    flow = [("gpu0:device", "gpu1:device", "gpu0")]
    warning = Warning(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    build.measure("copy", flow, 300.0, options={"note": HOSTILE}, warnings=[warning])
    build.lose("failed", HOSTILE, "copy", flow, size=12345)
    build.suite_title = HOSTILE
    whole = sample_run.topology(4, host=HOSTILE, gpu_model=HOSTILE)
    links = tuple(
        Link(link.a, link.b, link.kind, 1, None, 1e9, None, HOSTILE, HOSTILE) for link in whole.links
    )
    build.topology = Topology(whole.host, whole.devices, whole.switches, links, (HOSTILE,))
    text = html(build, tmp_path)
    tags = [tag for tag, _ in Outline(text).elements]
    assert "img" not in tags
    assert tags.count("script") == SCRIPTS
    assert "<img" not in text


def test_simulated_cannot_be_missed(host_html: str, tmp_path: Path) -> None:
    """Would catch simulated figures presented as measured ones."""
    assert "SIMULATED by" not in host_html
    build = sample_run.cpu_only()
    build.simulated = True
    text = html(build, tmp_path)
    assert "<title>SIMULATED: Fixture CPU: copies in host memory 17.5 GB/s" in text
    assert "quick on toy, 2026-01-02 03:04 UTC" in text
    assert text.index('class="banner" role="alert">SIMULATED') < text.index("<h1>")
    mark = "SIMULATED by byteways from the model toy (not measured)"
    for section in re.findall(r"<section .*?</section>", text, re.DOTALL):
        assert f'<p class="ribbon">{mark}</p>' in section
    assert text.count("<section ") > 5


def test_simulated_claims_no_measurement(tmp_path: Path) -> None:
    """Would catch a sentence on the page of a simulated run that says that something was measured."""
    build = sample_run.h200x4(rounds=2)
    build.simulated = True
    text = html(build, tmp_path)
    shown = re.sub(r"<(script|style|pre)\b.*?</\1>", "", text, flags=re.DOTALL)
    shown = shown.replace("(not measured)", "").replace("measurements.jsonl", "")
    for inside in ('"status measured"', 'id="not-measured"', 'href="#not-measured"'):
        shown = shown.replace(inside, "")
    assert [shown[found.start() - 60 : found.end() + 30] for found in re.finditer("(?i)measur", shown)] == []


def test_unfinished_run_says_so(tmp_path: Path) -> None:
    """Would catch a report of half a run that reads like one of the whole."""
    folder = sample_run.cpu_only().write(tmp_path)
    manifest = json.loads((folder / "run.json").read_text())
    manifest |= {"state": "interrupted", "finished_at": None, "wall_s": None, "planned": 90}
    (folder / "run.json").write_text(json.dumps(manifest))
    assert from_run(RunFolder(folder)).notices == (
        "This run is interrupted, 66 of 90 planned measurements are recorded: continue with `byteways run "
        "--resume RUN`.",
    )
    assert "66 of 90 planned" in write_report(folder).read_text()


def test_damaged_lines_are_told_on_top(tmp_path: Path) -> None:
    """Would catch a report over a damaged journal that looks whole."""
    build = sample_run.cpu_only()
    build.extra_lines = ['{"case_id": "torn']
    text = html(build, tmp_path)
    assert 0 < text.index("1 damaged line(s) in measurements.jsonl left out") < text.index("<h1>")


def test_no_peak_no_switch(host_html: str, gpus_html: str) -> None:
    """Would catch a switch to percent that shows dashes only, or that is gone where there are peaks."""
    assert 'data-numbers="percent"' not in host_html
    assert gpus_html.count('data-numbers="percent"') == 1


@pytest.mark.parametrize(
    ("iso", "shown"),
    [
        ("2026-11-21T06:52:36.123+00:00", "2026-11-21 06:52 UTC"),
        ("2026-11-21T08:52:36+02:00", "2026-11-21 06:52 UTC"),
        ("2026-11-21T06:52:36Z", "2026-11-21 06:52 UTC"),
        ("2026-11-21T06:52:36", "2026-11-21 06:52"),
        ("yesterday", "yesterday"),
    ],
)
def test_moments(iso: str, shown: str) -> None:
    """Would catch a time zone taken for UTC, or a traceback over a foreign manifest."""
    assert moment(iso) == shown


def test_curves_have_the_figures_of_their_records(tmp_path: Path) -> None:
    """Would catch warm and cold caches in one chart, rates in another unit, or a peak at the wrong place."""
    build = sample_run.Builder(sample_run.topology(0))
    flow = [("cpu0:hugepage", "cpu0:hugepage", "cpu0")]
    for cache, rate in (("cold", 9.0), ("warm", 209.0)):
        for size in (sample_run.MIB, sample_run.GIB):
            build.measure("memcpy", flow, rate, size=size, cache=cache, peak=300)
    cold, warm = page(build, tmp_path).parts["curves"].charts
    assert cold.levels == ()  # far above
    assert warm.levels == (ReferenceLine("peak 300.0 GB/s", 300.0),)
    (line,) = warm.series
    assert [(point.x, point.y) for point in line.points] == [(sample_run.MIB, 209.0), (sample_run.GIB, 209.0)]
    (low, high) = line.points[0].low, line.points[0].high
    assert low is not None and high is not None and low <= 209.0 <= high


def test_empty_run(tmp_path: Path) -> None:
    """Would catch a report that cannot be written before the first record is there."""
    assert Outline(html(sample_run.Builder(sample_run.topology(2)), tmp_path)).ids("section") == [
        "node",
        "machine",
        "reading",
        "method",
        "data",
    ]


def test_script_json_is_inert() -> None:
    """Would catch data that ends the script element it stands in, or that comes back otherwise than it is
    shown.
    """
    text = script_json({"x": HOSTILE, "y": "<!-- & \u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == visible_data({"x": HOSTILE, "y": "<!-- & \u2029"})


def test_rewriting_gives_the_same_page(tmp_path: Path) -> None:
    """Would catch a report that depends on when it was written."""
    folder = sample_run.cpu_only().write(tmp_path)
    assert write_report(folder).read_bytes() == write_report(folder).read_bytes()


def test_the_first_table_says_why_a_figure_is_missing(tmp_path: Path) -> None:
    """Would catch "not measured" of a size with results, which are of too few rounds to be ranked."""
    build = sample_run.Builder(sample_run.topology(2))
    pair = [("gpu0:device", "gpu1:device", "gpu0")]
    build.measure("copy", pair, 396.0)
    build.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 2.0, size=4096)
    build.rounds = 1
    build.measure("copy", pair, 24.0, size=2**20)
    told = re.findall(r'<td class="none">([^<]*)</td>', html(build, tmp_path))
    assert {"too few rounds", "not measured"} <= set(told)
