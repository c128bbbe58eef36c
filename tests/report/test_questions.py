"""Ten questions that a user has, answered on the page in at most two clicks each.

The guide lists them (docs/guides/read-the-report.md) with the same numbers of clicks.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from byteways.report import write_report
from tests.report import sample_run
from tests.report.browser import IN_BROWSER, Browser

pytestmark = IN_BROWSER

GUIDE = Path(__file__).parents[2] / "docs/guides/read-the-report.md"
MOST_CLICKS = 2
#: The charts of a selection are drawn after the tables; a hang alone reaches this.
WAIT_S = 30.0


@dataclass(frozen=True)
class Question:
    """What is asked, what is clicked (a selector, or one of a list with the option), and the answer."""

    asked: str
    clicks: tuple[str | tuple[str, str], ...]
    place: str
    answer: str  # a pattern in the text of the place


QUESTIONS = (
    Question(
        "What machine is this, and what do its links reach?", (), "h1", r"4 × H200: .* 396 GB/s, 88 % of peak"
    ),
    Question("Which link is slow, failed or missing?", (), "svg.node .number", r"^396$"),
    Question(
        "What matters most?",
        (),
        ".findings.top li",
        r"From host to GPU, copy with pinned memory reaches 55.4 GB/s",
    ),
    Question(
        "Which interface do I use between GPUs, and by how much does it lead?",
        (),
        "#recommended tr:nth-child(3)",
        r"GPU > GPU, NVLink4 ×18\s*copy 247 GB/s\s*36 % over kernel",
    ),
    Question(
        "Which way is fastest from gpu2 to gpu0 at 1 MiB, and how sure is that?",
        ("button[data-pair='gpu2>gpu0']", ("#explore-size", "1 MiB")),
        "#explore-ways tbody tr",
        r"copy issued by the source\s+247\s+24\d.*–24\d.*\s+fastest\s+copy-engine",
    ),
    Question(
        "How fast is the host's memory from a GPU, pinned and pageable?",
        ("button[data-pair='cpu0>gpu1']",),
        "#explore-ways",
        r"copy with pinned memory\s+55.4[\s\S]*copy with pageable memory\s+14.2",
    ),
    Question(
        "What do both directions at once give?",
        ("[data-both='1']",),
        "button[data-pair='gpu0>gpu1']",
        r"^784$",
    ),
    Question(
        "What share of the peak does each pair reach?",
        ("[data-share='1']",),
        "button[data-pair='gpu3>gpu2']",
        r"^88\.0$",
    ),
    Question(
        "What is the latency of each memory?",
        (".contents a[href='#latency']",),
        "#latency table",
        r"gpu0[\s\S]*640",
    ),
    Question(
        "What is missing, and why?",
        (".contents a[href='#not-measured']",),
        "#not-measured table",
        r"skipped\s+1\s+gpu0 has no bulk copies",
    ),
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = sample_run.MIB, sample_run.GIB
    return write_report(sample_run.h200x4(sizes=sizes).write(tmp_path_factory.mktemp("questions")))


@pytest.fixture(scope="module")
def shared() -> Iterator[Browser]:
    with Browser(width=1400) as browser:
        yield browser


def click(browser: Browser, what: str | tuple[str, str]) -> None:
    """One click on what is seen, or one choice from a list that is seen."""
    selector, option = (what, None) if isinstance(what, str) else what
    found = f"document.querySelector({json.dumps(selector)})"
    assert browser.evaluate(f"{found}.checkVisibility()"), selector
    if option is None:
        browser.evaluate(f"{found}.click()")
        return
    browser.evaluate(
        f"(() => {{ const list = {found}; const text = {json.dumps(option)};"
        "list.value = Array.from(list.options).find((one) => one.text === text).value;"
        "list.dispatchEvent(new Event('change')); })()"
    )


def seen(browser: Browser, place: str) -> list[str]:
    """The texts of what is visible at a place."""
    script = (
        f"Array.from(document.querySelectorAll({json.dumps(place)}))"
        ".filter((one) => one.checkVisibility()).map((one) => one.innerText || one.textContent)"
    )
    return [str(text).strip() for text in browser.evaluate(script)]


def answered(browser: Browser, question: Question) -> bool:
    return any(re.search(question.answer, text) for text in seen(browser, question.place))


@pytest.mark.parametrize("question", QUESTIONS, ids=[one.asked for one in QUESTIONS])
def test_the_answer_is_two_clicks_away(shared: Browser, report: Path, question: Question) -> None:
    """Would catch an answer that has moved behind another click, or is no longer on the page."""
    assert len(question.clicks) <= MOST_CLICKS
    shared.open(report)
    for what in question.clicks:
        click(shared, what)
    until = time.monotonic() + WAIT_S
    while not answered(shared, question):
        assert time.monotonic() < until, seen(shared, question.place)
        time.sleep(0.1)


def test_before_the_clicks_the_answer_is_elsewhere(shared: Browser, report: Path) -> None:
    """Would catch clicks that are not needed, which the guide would count too high."""
    shared.open(report)
    for question in QUESTIONS:
        if question.clicks:
            assert not answered(shared, question), question.asked


def test_the_guide_lists_the_questions() -> None:
    """Would catch a guide that promises fewer clicks, or other questions, than are tested."""
    rows = re.findall(r"^\| \d+ \| (.+?) \| .+? \| (\d) \|$", GUIDE.read_text(), re.M)
    assert rows == [(question.asked, str(len(question.clicks))) for question in QUESTIONS]
