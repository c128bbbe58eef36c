"""Other tools' names: accepted where they have one equivalent, listed where they have several."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from byteways.base.aliases import ALIASES, NOTES, AmbiguousError, ends, translated
from byteways.base.errors import BytewaysError
from byteways.cases.case import PATTERNS
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES
from byteways.cli import main
from byteways.plan.filter_keys import KEYS
from byteways.plan.filters import only_filter
from byteways.plan.suite import load, parse
from tests.unit.planning import plan

from .test_plan_filters import MACHINE

OURS = {
    "interface": (*INTERFACES,),
    "memory": MEMORIES,
    "pattern": PATTERNS,
    "access": ("read", "write", "local", "remote"),
    "key": (*KEYS,),
}
SUITE = """
name = "mine"
title = "A test"
[[sweep]]
name = "pairs"
interface = "%s"
pattern = "%s"
source = "%s"
destination = "gpu*:device"
size = "1MiB"
"""


def kept(*only: str) -> set[str]:
    planned = plan(load("quick"), *MACHINE, only=only, budget_s=3600)
    return {entry.case.case_id for entry in planned}


@pytest.mark.parametrize("kind", OURS)
def test_every_alias_stands_for_words_that_exist(kind: str) -> None:
    """Catches a word that was renamed in one table only, and a name of others that hides one of ours."""
    for alias in ALIASES[kind]:
        assert set(alias.ours) <= set(OURS[kind])
        assert not set(alias.theirs) & set(OURS[kind])


@pytest.mark.parametrize("kind", ALIASES)
def test_no_name_stands_in_two_rows(kind: str) -> None:
    """Catches a name whose second row would never be reached."""
    names = [name.casefold() for alias in ALIASES[kind] for name in alias.theirs]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("interface=cudaMemcpyAsync", "interface=copy"),
        ("interface=CE", "interface=copy"),
        ("interface=SM|hipMemcpyAsync", "interface=kernel|copy"),
        ("api=copy", "interface=copy"),
        ("pattern=bidir", "pattern=bidirectional"),
        ("pattern=two_way", "pattern=bidirectional"),
        ("pattern=Fan_Out", "pattern=fan-out"),
        ("memory=hipHostMalloc", "memory=pinned"),
        ("source=cpu0:cudaHostAlloc", "source=cpu0:pinned"),
        ("path=host>gpu3", "path=cpu*>gpu3"),
        ("path=h2d", "path=cpu*>gpu*"),
        ("pattern=d2h", "path=gpu*>cpu*"),
        ("access=pull", "access=read"),
    ],
)
def test_a_filter_takes_other_tools_names(theirs: str, ours: str) -> None:
    """Catches a name that is accepted and filters by something else."""
    assert kept(theirs) == kept(ours)


def test_peer_to_peer_leaves_copies_inside_a_gpu_out() -> None:
    """Catches p2p as any path from GPU to GPU: a copy inside one GPU is none."""
    planned = plan(load("quick"), *MACHINE, only=["path=p2p"], budget_s=3600)
    paths = {(flow.source.device, flow.destination.device) for entry in planned for flow in entry.case.flows}
    assert paths
    assert all(a != b and {a[:3], b[:3]} == {"gpu"} for a, b in paths)


@pytest.mark.parametrize(
    ("only", "meant"),
    [
        ("interface=STREAM", ["stream-copy", "stream-triad"]),
        ("path=d2d", ["gpu*>peer", "gpu*>gpu*"]),
        ("memory=hipExtMallocWithFlags", ["device-fine", "device-uncached"]),
        ("direction=there", ["pattern", "executor"]),
    ],
)
def test_an_ambiguous_name_lists_what_it_could_mean(only: str, meant: list[str]) -> None:
    """Catches a guess where the user has to choose."""
    with pytest.raises(BytewaysError) as caught:
        only_filter([only])
    assert all(f"{word}" in caught.value.what for word in meant)
    assert "write the one you mean" in (caught.value.hint or "")


def test_an_unknown_word_is_refused() -> None:
    """Catches a mistyped interface beside another --only, which would be left out in silence."""
    with pytest.raises(BytewaysError, match="unknown interface 'kernal'") as caught:
        only_filter(["interface=copy", "interface=kernal"])
    assert "did you mean 'kernel'" in (caught.value.hint or "")


def test_a_word_without_its_key_gets_one() -> None:
    """Catches a hint that does not say how to write what was typed."""
    with pytest.raises(BytewaysError) as caught:
        only_filter(["bidir"])
    assert caught.value.hint == "'bidir' is the pattern bidirectional: --only 'pattern=bidirectional'"


def test_a_suite_takes_other_tools_names() -> None:
    """Catches a suite whose aliases end up as another sweep."""
    theirs = parse(SUITE % ("cudaMemcpyAsync", "bidir", "host:cudaMallocHost"), file="mine.toml").sweeps[0]
    ours = parse(SUITE % ("copy", "bidirectional", "cpu*:pinned"), file="mine.toml").sweeps[0]
    assert (theirs.interfaces, theirs.patterns) == (ours.interfaces, ours.patterns)
    assert (theirs.sources[0].device, theirs.sources[0].memory) == ("cpu*", "pinned")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (SUITE % ("copy", "h2d", "gpu*:device"), 'write source = "cpu*:pinned", destination = "gpu*:device"'),
        (SUITE.replace("pattern =", "direction =") % ("copy", "bidir", "gpu*:device"), "pattern or executor"),
    ],
)
def test_a_suite_says_where_other_words_belong(text: str, hint: str) -> None:
    """Catches `bisection` as the advice for h2d, and `precision` for direction."""
    with pytest.raises(BytewaysError) as caught:
        parse(text, file="mine.toml")
    assert hint in (caught.value.hint or "")


def test_ends_of_a_word_that_names_no_path() -> None:
    """Catches a hint about paths behind any unknown word."""
    assert ends("bidirectional") is None


def test_own_words_and_globs_are_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Catches a note about what was not translated."""
    NOTES.propagate = True
    with caplog.at_level(logging.INFO, logger=NOTES.name):
        assert translated("interface", "copy", INTERFACES) == "copy"
        assert translated("interface", "cuda*", INTERFACES) == "cuda*"
        assert translated("interface", "frobnicate", INTERFACES) == "frobnicate"
    assert not caplog.records
    with pytest.raises(AmbiguousError, match="'latency' could mean pointer-chase or ping-pong"):
        translated("interface", "latency", INTERFACES)


def test_the_note_is_one_line_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches notes on standard output, which a pipe reads, and one for each time a name is read."""
    suite = tmp_path / "mine.toml"
    suite.write_text(SUITE % ("cudaMemcpyAsync", "bidir", "gpu*:cudaMalloc"))
    words = ["run", str(suite), "--machine", "h200-x4", "--dry-run", "--only", "interface=cudaMemcpyAsync"]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "note:" not in shown.out
    assert shown.err.splitlines() == [
        "note: 'cudaMemcpyAsync' is called 'copy' here",
        "note: 'bidir' is called 'bidirectional' here",
        "note: 'cudaMalloc' is called 'device' here",
    ]
