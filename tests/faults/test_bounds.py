"""Files that ask for more than any machine has: refused at once, with what is too much, and how much there
may be.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from byteways.base import toml_bounds
from byteways.base.errors import BytewaysError
from byteways.base.toml_files import shipped
from byteways.cli import main
from byteways.cli.progress import PLANNING_EVERY_S, Planning
from byteways.machine.model import Capabilities
from byteways.models import load as load_machine
from byteways.plan import bounds
from byteways.plan.planner import make_plan
from byteways.plan.suite import names, parse
from tests.report import sample_run

SUITE = """\
name = "mine"
title = "Mine"
[[sweep]]
name = "s"
interface = "copy"
source = "gpu*:device"
destination = "gpu*:device"
"""

BEYOND = {
    "brackets": (f"size = {'[' * 100_000}{']' * 100_000}", "brackets nested"),
    "tables": (f"size = {'{a=' * 50_000}1{'}' * 50_000}", "brackets nested"),
    "dotted": (".".join("a" * 50_000) + " = 1", "a key of more than 16 parts"),
    "quoted": ('"b".' * 20_000 + "c = 1", "a key of more than 16 parts"),
    "header": ("[" + ".".join("a" * 50_000) + "]", "a key of more than 16 parts"),
    "digits": ("size = " + "9" * 5000, "a number of more than 40 digits"),
    "hexadecimal": ("size = 0x" + "f" * 5000, "a number of more than 40 digits"),
    "number": ("precision = 9999999999999999999999999", "out of range"),
    "negative": ("priority = -99999999999999999999", "out of range"),
    "exponent": ("precision = 1e9999", "out of range"),
    "date": ("size = 2026-02-30", "not valid TOML"),
}


@pytest.mark.parametrize("kind", BEYOND)
@pytest.mark.parametrize("verb", ["run", "topo"])
def test_text_beyond_bounds(kind: str, verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch gigabytes of memory, a parser's recursion limit, or `something unexpected` for a short
    text.
    """
    text, said = BEYOND[kind]
    file = tmp_path / "s.toml"
    size = "" if "size" in text else 'size = "1MiB"\n'
    file.write_text(f"{SUITE}{size}{text}\n")
    words = ["run", str(file), "--dry-run", "--machine", "h200-x4"]
    assert main(words if verb == "run" else ["topo", "--machine", str(file)]) == 2
    error = capsys.readouterr().err
    assert "something unexpected" not in error and "Traceback" not in error
    assert (said in error and str(file) in error) or verb == "topo"


def test_what_comes_with_byteways_is_within_bounds() -> None:
    """Would catch a bound that a suite, study or model of ours passes."""
    assert names()
    for package in ("byteways.plan.suites", "byteways.models", "byteways.plan"):
        assert {toml_bounds.excess(text) for text in shipped(package).values()} == {None}
    strings = 'a = "[[[[ 9999999999999999999999999999999999999999999 a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r"\n'
    assert toml_bounds.excess(strings * 40) is None
    assert toml_bounds.excess(f"{strings}\nb = '''\n[[[\n'''\nc = {'[' * 33}") == (
        6,
        "brackets nested more than 32 deep",
    )


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "large"])
def test_what_is_no_file(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a suite, model, study or topology that is waited for or read without end."""
    path = tmp_path / "s.toml"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(1 << 34)
    study = tmp_path / "study"
    study.mkdir()
    (study / "study.toml").symlink_to(path)
    verbs = [["run", str(path), "--dry-run"], ["topo", "--machine", str(path)], ["reproduce", str(study)]]
    verbs += [] if kind == "folder" else [["topo", "--from", str(path)]]
    for words in verbs:
        assert main(words) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and "  caused by: " in error, words


def test_products_are_counted_before_they_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a minute without output before a suite of a million cases is refused."""
    file = tmp_path / "s.toml"
    blocks = ", ".join(str(number) for number in range(1, 1001))
    threads = ", ".join(str(number) for number in range(32, 1025, 32))
    text = SUITE.replace("copy", "kernel") + f'size = "1MiB..8MiB"\noptions = {{ blocks = [{blocks}]'
    file.write_text(f"{text}, threads = [{threads}] }}\n")
    assert main(["run", str(file), "--dry-run", "--machine", "h200-x4"]) == 2
    assert f"{file}:4: sweep 's' has 128,000 cases, more than 100,000" in capsys.readouterr().err
    file.write_text(f"{text} }}\n")  # within bounds for a set of flows, beyond them on this machine
    assert main(["run", str(file), "--dry-run", "--machine", "h200-x4"]) == 2
    assert f"{file}:4: sweep 's' has 112,000 cases, more than 100,000" in capsys.readouterr().err


def test_all_sweeps_are_counted_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a suite of many sweeps within bounds each, expanded for a minute before it is refused."""
    monkeypatch.setattr(bounds.within, "__defaults__", (1000,))
    sweeps = "".join(
        f'[[sweep]]\nname = "s{number}"\ninterface = "kernel"\npattern = "unidirectional"\n'
        'source = "gpu*:device"\ndestination = "gpu*:device"\nexecutor = "source"\nsize = "1MiB"\n'
        f"options = {{ blocks = {[*range(1, 21)]} }}\n"
        for number in range(1, 9)
    )
    suite = parse(f'name = "x"\ntitle = "X"\n{sweeps}', file="s.toml")
    made = []
    with pytest.raises(BytewaysError) as caught:
        make_plan(suite, sample_run.topology(4), Capabilities(), on_sweep=lambda *done: made.append(done))
    assert "the suite up to sweep" in caught.value.what
    assert made and made[-1][1] <= 1000


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"count": "99999999999999999999"}, "out of range"),
        ({"domains": "99999999999999999999"}, "out of range"),
        ({"cores": "9999999"}, "out of range"),
        ({"domains": "2", "cores": "4000"}, "the total exceeds 4096"),
        ({"memory_bytes": "9999999999999999999999"}, "out of range"),
    ],
)
def test_machine_that_cannot_be(
    values: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Would catch a model whose devices are made up one by one until memory ends."""
    text = load_machine("h200-x4").text
    for key, value in values.items():
        text, changed = re.subn(rf"(?m)^{key} = \[[0-9_]+,", f"{key} = [{value},", text, count=1)
        assert changed == 1
    file = tmp_path / "m.toml"
    file.write_text(text)
    assert main(["topo", "--machine", str(file)]) == 2
    assert said in capsys.readouterr().err


def test_planning_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch planning that is silent for a minute, or that chatters on a small machine."""
    now = [0.0]
    planning = Planning(40, clock=lambda: now[0])
    for done in range(1, 41):
        now[0] += 0.25 * PLANNING_EVERY_S
        planning(done, 100 * done)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 10 and said[0] == "planning: 4 of 40 sweeps, 400 cases so far"


def test_bound_is_for_more_than_there_is() -> None:
    """Would catch a bound that says how many cases there are only when there are too many by one."""
    bounds.within(bounds.MOST_PLANNED_CASES, "it")
    with pytest.raises(Exception, match="it has 100,001 cases, more than 100,000"):
        bounds.within(bounds.MOST_PLANNED_CASES + 1, "it")
