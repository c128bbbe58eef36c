"""Faults of the simulated machine: each does what it says, to what it names and to nothing else."""

from __future__ import annotations

import subprocess

import pytest

from tests.native import simulated as sim

from .conftest import Play, Told
from .test_world import CLEAN, COPY_NS, ENQUEUE_NS, LOST, OUT_OF_MEMORY, SIZE, codes, number

INVALID = 0
WORDS = SIZE // 8


def faulty(*faults: str) -> str:
    return sim.nvidia(**{f"faults__{index}": fault for index, fault in enumerate(faults)})


def test_corrupt(play: Play) -> None:
    """Would catch a corrupted word that is another one, or more than one, or on another way."""
    told = play("moves", faulty("corrupt:gpu0>gpu1:word=12345"))
    for by in ("engine", "kernel"):
        ((bad, first, _),) = told[by]
        assert (int(bad), int(first)) == (1, 12345)
    assert told["from-host"] == CLEAN
    other = play("moves", faulty("corrupt:gpu1>gpu0:word=1"))
    assert other["engine"] == other["kernel"] == CLEAN
    from_host = play("moves", faulty("corrupt:cpu0>gpu0:word=3"))
    assert from_host["from-host"][0][:2] == ["1", "3"]


def test_skip(play: Play) -> None:
    """Would catch a skipped copy that moves something, or takes no time."""
    told = play("moves", faulty("skip:gpu0>gpu1"))
    assert told["engine"][0][:2] == told["kernel"][0][:2] == [str(WORDS), "0"]
    assert told["from-host"] == CLEAN


def test_hang(play: Play) -> None:
    """Would catch an operation that never ends and is reported as a deadlock of the program."""
    with pytest.raises(subprocess.TimeoutExpired):
        play("hang", faulty("hang:gpu0>gpu1"), timeout_s=0.5)
    assert play("hang", faulty("hang:gpu1>gpu0")) == {}


def test_lost(play: Play) -> None:
    """Would catch a lost GPU that answers again, and one that takes another with it."""
    told = play("lost", faulty("lost:gpu0:after=4"))
    assert codes(told, "copy") == [-1] * 4 + [LOST] * 6
    assert codes(told, "synchronize") == codes(told, "allocate") == [LOST]
    assert codes(told, "other") == [-1]


def test_no_memory(play: Play) -> None:
    """Would catch a limit that counts what was freed, or is another GPU's."""
    told = play("memory", faulty(f"no-memory:gpu0:above={sim.MIB}"))
    assert codes(told, "above") == [OUT_OF_MEMORY]
    assert codes(told, "below") == codes(told, "again") == [-1]
    assert number(told, "less") < number(told, "free")
    assert codes(play("memory", faulty("no-memory:gpu0")), "below") == [OUT_OF_MEMORY]


def link(told: Told) -> float:
    """Bytes/s of the copy, its fixed time taken off."""
    return SIZE / (number(told, "copy") - ENQUEUE_NS - sim.FIXED_NS["engine"]) * 1e9


def test_slow_and_down(play: Play) -> None:
    """Would catch a weakened link that is as fast as before, and a missing one that is crossed."""
    healthy = play("links", sim.nvidia())
    assert number(healthy, "copy") == pytest.approx(COPY_NS + ENQUEUE_NS)
    assert healthy["peer"] == [["1", "1", "0"]]
    assert link(play("links", faulty("slow:gpu0-gpu1:0.5"))) == pytest.approx(link(healthy) / 2)
    assert link(play("links", faulty("slow:gpu1-gpu0:0.5"))) == pytest.approx(link(healthy) / 2)
    down = play("links", faulty("down:gpu0-gpu1"))
    assert down["peer"] == [["0", "0", "0"]]
    assert link(down) == pytest.approx(0.9 * 50 * sim.GB)  # over PCIe and the CPUs


def test_throttle(play: Play) -> None:
    """Would catch a throttled GPU whose kernels keep their pace, or that does not say so."""
    healthy, told = play("links", sim.nvidia()), play("links", faulty("throttle:gpu0:0.5"))
    assert healthy["throttled"] == [["0", "0"]]
    assert told["throttled"] == [["1", "0"]]
    assert number(told, "copy") == number(healthy, "copy")
    for kernel in ("fill", "walk"):
        assert number(told, kernel) - ENQUEUE_NS == pytest.approx(2 * (number(healthy, kernel) - ENQUEUE_NS))


def test_false_peer(play: Play) -> None:
    """Would catch access that is denied, which is honest, and writes that arrive."""
    told = play("moves", faulty("false-peer:gpu0>gpu1"))
    assert told["kernel"][0][:2] == [str(WORDS), "0"]
    assert told["from-host"] == CLEAN


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("melt:gpu0", "no fault of that name"),
        ("lost", "names no device"),
        ("lost:gpu7", "no GPU 'gpu7'"),
        ("lost:cpu0", "no GPU 'cpu0'"),
        ("hang:gpu0-gpu1", "no pair with '>'"),
        ("hang:gpu0>gpu01", "no device 'gpu01'"),
        ("hang:gpu0>", "no device ''"),
        ("hang:gpu0>gpu1:now", "takes no 'now'"),
        ("corrupt:gpu0>gpu1", "needs a number"),
        ("corrupt:gpu0>gpu1:word=x", "no number"),
        ("corrupt:gpu0>gpu1:word=1.5", "whole number"),
        ("corrupt:gpu0>gpu1:7", "expected word=NUMBER"),
        ("slow:gpu0-gpu1:0", "above 0"),
        ("slow:gpu0-gpu1:2", "at most 1"),
        ("down:gpu0-cpu1", "no link between"),
        ("throttle:gpu0:-1", "no number"),
    ],
)
def test_no_fault(play: Play, fault: str, words: str) -> None:
    """Would catch a fault that is misread, and then silently is another one or none."""
    told = play("load", faulty(fault))
    assert codes(told, "failure") == [INVALID]
    assert words in " ".join(told["failure"][0])
