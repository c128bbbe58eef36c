"""`byteways list`: what there is, what of it is here, and why the rest is not."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import PATTERNS
from byteways.cases.interfaces import APPLICATIONS, INTERFACES
from byteways.cases.memory import MEMORIES
from byteways.cli import list as verb
from byteways.cli.list import KnownMachine
from tests.unit import machines


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "look", lambda *_: KnownMachine(*machines.two_cores()))


@pytest.fixture
def patchy(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machines.gpus(2, without_peer=[("gpu0", "gpu1")], without_bulk=["gpu1"])
    monkeypatch.setattr(verb, "look", lambda *_: KnownMachine(*machine))


@pytest.fixture
def unprobed(monkeypatch: pytest.MonkeyPatch) -> None:
    topology, _ = machines.two_cores()
    monkeypatch.setattr(verb, "look", lambda *_: KnownMachine(topology, None, "worker died: signal 11"))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    verb.list_(*words)
    return capsys.readouterr().out


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    verb.list_(*words, as_json=True)
    return json.loads(capsys.readouterr().out)


def row(text: str, name: str) -> str:
    """The line of that name; suites come first, and one may be called as what it is about. An application
    pattern has a suite, an interface and a pattern of its name.
    """
    *others, line = [line for line in text.splitlines() if line.split()[:1] == [name]]
    assert len(others) <= (2 if name in APPLICATIONS else 1)
    return line


def test_everything_is_listed(bare: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a word of suites and filters that the list does not have."""
    text = printed(capsys)
    for name in ("quick", "full", *INTERFACES, *MEMORIES, *PATTERNS, "cpu0"):
        assert row(text, name)


def test_what_is_not_here_says_why(bare: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches availability without a reason, or the reason of something else."""
    text = printed(capsys)
    assert row(text, "memcpy").endswith("  cpu0")
    assert row(text, "copy").endswith("  no [1]")
    assert row(text, "kernel").endswith("  no [1]")
    assert row(text, "[1]") == "  [1] no usable GPU here; byteways doctor says why"
    assert row(text, "pinned").endswith("  no [2]")
    assert row(text, "[2]") == "  [2] cpu0 has no such memory: no GPU runtime was found"
    assert max(len(line) for line in text.splitlines()) <= 120


def test_devices_that_differ_are_named(patchy: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches one GPU speaking for all."""
    text = printed(capsys, "interfaces")
    number = re.search(r"  gpu0; no (\[\d\])$", row(text, "kernel-bulk"))[1]
    assert row(text, number).endswith("kernel-bulk is not available on gpu1: sm_80 has no bulk copies")
    here = {entry["name"]: entry["here"] for entry in answer(capsys, "interfaces")["interfaces"]}
    assert here["kernel-bulk"]["gpu0"] == {"available": True, "reason": ""}
    assert not here["kernel-bulk"]["gpu1"]["available"]
    assert set(here["copy"]) == {"gpu0", "gpu1"}


def test_patterns_say_how_many_gpus_they_need(patchy: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a pattern that a machine is too small for and that is listed as there to be had."""
    text = printed(capsys, "patterns")
    assert row(text, "bidirectional").endswith("  yes")
    number = re.search(r"  no (\[\d\])$", row(text, "bisection"))[1]
    assert row(text, number) == f"  {number} bisection needs 4 GPUs, and this machine has 2"
    listed = {entry["name"]: entry for entry in answer(capsys, "patterns")["patterns"]}
    assert listed["ring"]["needs"] == {"devices": 3, "gpus": 3}
    assert (listed["host-and-ring"]["here"], listed["ring"]["here"]) == (True, False)


def test_other_tools_names_are_listed(bare: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a list that omits other words accepted by `--only`."""
    text = printed(capsys, "interfaces")
    assert re.search(r"^  copy: cudaMemcpyAsync, .*hipMemcpyAsync, .*CE, ", text, re.MULTILINE)
    (pinned,) = (one for one in answer(capsys, "memory")["memory"] if one["name"] == "pinned")
    assert {"cudaHostAlloc", "hipHostMalloc"} <= set(pinned["elsewhere"])


@pytest.mark.parametrize("what", ["suites", "machines"])
def test_words_of_every_machine_open_none(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a probe, which takes seconds and opens GPUs, for a list that needs none."""

    def look(*_: object) -> KnownMachine:
        raise AssertionError("the machine was probed")

    monkeypatch.setattr(verb, "look", look)
    shown = answer(capsys, what)
    assert shown[what]
    assert "probed" not in shown


def test_a_machine_that_cannot_be_probed_is_no_error(
    unprobed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a broken driver hiding the vocabulary, or missing availability passing for a no."""
    verb.list_("memory")
    shown = capsys.readouterr()
    assert row(shown.out, "pageable").endswith("unknown")
    assert shown.err == "this machine could not be probed: worker died: signal 11\n"
    told = answer(capsys, "memory")
    assert (told["probed"], told["reason"]) == (False, "worker died: signal 11")
    assert told["memory"][0]["here"] is None


def test_cases_of_a_suite(patchy: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches cases that a budget or the rounds hide or repeat, and skipped ones without their reason."""
    listed = answer(capsys, "cases", "full")["cases"]
    assert len({entry["case_id"] for entry in listed}) == len(listed) > 200
    reasons = [entry["skipped"] for entry in listed if entry["skipped"]]
    assert any("no peer access: the driver refused it" in reason for reason in reasons)
    assert not any("budget" in reason for reason in reasons)
    text = printed(capsys, "cases", "quick")
    assert "gpu0:device > gpu1:device by gpu0" in text
    assert text.count("the driver refused it") <= 2, "each direction's reason once"
    assert re.search(r"  \[1\]$", text, re.MULTILINE)


def test_a_machine_that_cannot_be_probed_has_no_cases(unprobed: None) -> None:
    """Catches a list of refusals that are none: nothing is known."""
    with pytest.raises(BytewaysError, match="it is unknown what can run here") as caught:
        verb.list_("cases", "quick")
    assert caught.value.cause == "worker died: signal 11"


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (("suite",), "unknown list 'suite'", "did you mean 'suites'?"),
        (("cases",), "cases are listed by suite", "byteways list cases quick"),
        (("memory", "quick"), "cases are listed by suite", "byteways list cases quick"),
        (("cases", "nosuch"), "unknown suite 'nosuch'", "valid: quick, full"),
    ],
)
def test_wrong_words(words: tuple[str, ...], what: str, hint: str) -> None:
    """Catches a mistyped word that crashes or probes the machine first."""
    with pytest.raises(BytewaysError, match=what) as caught:
        verb.list_(*words)
    assert hint in (caught.value.hint or "")


def test_probing_failures_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a lost worker ending the list, and its cause getting lost on the way."""
    from byteways.measuring.conduct import probe

    def lost() -> None:
        raise BytewaysError("this machine could not be probed", cause="worker died: signal 11")

    monkeypatch.setattr(probe, "probe", lost)
    machine = verb.look()
    assert (machine.capabilities, machine.reason) == (None, "worker died: signal 11")
    assert machine.topology.names("cpu")
