"""Suites that are made for a question or a command: their sweeps, and the text that says the same."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import byteways
from byteways.base.errors import BytewaysError
from byteways.cases.question import question
from byteways.ext.copy.copy_plan_suite import copy_plan_suite
from byteways.ext.watch.bins import Watched
from byteways.ext.watch.verbs.watch_measure import _head
from byteways.ext.watch.verbs.watched_suite import suite_of_watched
from byteways.plan.built_suite import built_suite
from byteways.plan.load_question import load_question
from byteways.plan.question_suite import suite_of
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.plan.transfers_suite import transfers_suite
from tests.unit import planning
from tests.unit.watch.test_watched_advice import GPU0, PAGEABLE, copies

PACKAGE = Path(byteways.__file__).parent
HEAD = {"name": "made", "title": 'Copies of "a" to ä, in 1 µs', "rounds": 3, "budget_s": 9.0}
COPY = {"interface": ["copy"], "source": "gpu0:device", "destination": ["gpu1:device"], "size": "1MiB"}
TOPOLOGY = planning.h200x4[0]
#: They read what somebody saved: a run or a study.
READERS = {
    *("cli/measure_now.py", "ext/studies/comparison/value_lookup.py", "measuring/conduct/resume.py"),
    *("measuring/hosts/execution.py", "ext/studies/published/reading.py"),
}


def watched_suite() -> Suite:
    watched = Watched([], [copies(PAGEABLE, GPU0, 100_000), copies(GPU0, GPU0, 4_000, size=3000)])
    head = _head(SimpleNamespace(watched=watched), 60.0, 2)  # type: ignore[arg-type]
    return suite_of_watched(watched, TOPOLOGY, head, "watch-1", [{"UCX_X": 'a "b"\\ c'}])


@pytest.mark.parametrize(
    "make",
    [
        lambda: suite_of(question("host", "gpu*", "1MiB"), TOPOLOGY),
        lambda: suite_of(question("gpu0", "gpu1", "1MiB", within="ranks"), TOPOLOGY),
        lambda: suite_of(question("gpu0", "gpu1", "1MiB", memory="managed*"), TOPOLOGY),
        lambda: suite_of(question("host", "gpu0", "1024x16KiB"), TOPOLOGY),
        lambda: suite_of(question("", "", "1MiB", pattern="allreduce"), TOPOLOGY),
        lambda: suite_of(load_question("gpu1", "60GiB"), TOPOLOGY),
        lambda: transfers_suite(["gpu0>gpu1,gpu1>gpu0", "cpu0>gpu0,gpu1>gpu0"]),
        lambda: copy_plan_suite(4),
        watched_suite,
        lambda: built_suite(HEAD, [("one", {**COPY, "options": {"gate": False, "batch": [1, 8]}})], file="f"),
    ],
)
def test_the_text_is_the_same_suite(make: Callable[[], Suite]) -> None:
    """Catches a text in the manifest that a user who saves it and runs it cannot read, or that differs."""
    suite = make()
    assert parse(suite.text, file=suite.sweeps[0].origin.file) == suite


def test_a_mistake_has_its_line_in_the_text() -> None:
    """Catches a sweep that is built around the rules of suite files, and messages without a place."""
    wrong = [("one", COPY), ("two", {**COPY, "size": 1000, "interface": "kernel"})]
    with pytest.raises(BytewaysError, match="asked:18: sweep 'two', key 'size': kernel"):
        built_suite(HEAD, wrong, file="asked")
    text = built_suite(HEAD, [("one", COPY), ("two", COPY)], file="asked").text
    assert text.splitlines()[17].startswith("size = ")


@pytest.mark.parametrize(
    ("head", "keys"), [({**HEAD, "rounds": 0}, COPY), (HEAD, {**COPY, "sizes": 8}), (HEAD, {"size": 8})]
)
def test_what_no_suite_has_is_refused(head: dict[str, object], keys: dict[str, object]) -> None:
    """Catches a value out of its range, an unknown key, and one that is missing."""
    with pytest.raises(BytewaysError, match=r"^asked:"):
        built_suite(head, [("one", keys)], file="asked")


def test_text_is_parsed_where_it_is_read() -> None:
    """Catches a suite that is written as text to be parsed again."""
    users = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "byteways.plan.suite"
        if any(name.name == "parse" for name in node.names)
    }
    assert users == READERS
