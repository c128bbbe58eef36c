"""`byteways watch` of a PyTorch program on a real GPU: counts and bytes are the program's."""

from __future__ import annotations

import importlib.util
import signal
import sys
from pathlib import Path

import pytest

from byteways.watch.folder import WatchFolder
from tests.watch.programs import codes, watched

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]

TRAIN_STEP = Path(__file__).parents[2] / "examples" / "watch" / "train_step.py"
COUNT = 50
#: Size of the copies of watched_torch.py by memory of source and destination.
SIZES = {
    ("pageable", "device"): 1_048_832,
    ("pinned", "device"): 2_097_664,
    ("device", "pinned"): 2_097_920,
    ("device", "device"): 4_194_816,
}


def check(found: WatchFolder) -> None:
    for (source, destination), size in SIZES.items():
        ones = [
            one
            for one in found.watched.bins
            if one.what == "copy"
            and (one.source.memory, one.destination.memory) == (source, destination)
            and size == one.size_from == one.size_to
        ]
        assert sum(one.count for one in ones) == COUNT, (source, destination, ones)
        assert sum(one.bytes for one in ones) == COUNT * size
        assert all(one.time_ns for one in ones)


def test_copies_are_the_programs(tmp_path: Path) -> None:
    """Catches records of this machine's CUPTI that are read wrongly, lost, or counted twice."""
    done, found = watched(tmp_path / "W", sys.executable, "-m", "tests.gpu.watched_torch")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert codes(found) == [] and "cuda" in found.watched.processes[0].collectors
    check(found)
    whats = {one.what for one in found.watched.bins}
    assert {"copy", "allocation", "synchronisation"} <= whats


def test_a_killed_program_leaves_its_copies(tmp_path: Path) -> None:
    """Catches records that only the program's end brings."""
    done, found = watched(tmp_path / "W", sys.executable, "-m", "tests.gpu.watched_torch", "kill")
    assert done.returncode == 128 + signal.SIGKILL and "not-ended" in codes(found)
    check(found)


def test_a_training_step_moves_what_it_says(tmp_path: Path) -> None:
    """Catches copies of examples/watch/train_step.py that are not seen: batches up, momenta up and down."""
    steps, layers, width, batch = 3, 2, 512, 64
    sizes = ("--steps", str(steps), "--layers", str(layers), "--width", str(width), "--batch", str(batch))
    done, found = watched(tmp_path / "W", sys.executable, str(TRAIN_STEP), "train", *sizes)
    assert done.returncode == 0, done.stderr

    def copied(source: str, destination: str, size: int) -> int:
        return sum(
            one.count
            for one in found.watched.bins
            if one.what == "copy"
            and (one.source.memory, one.destination.memory) == (source, destination)
            and one.size_from == one.size_to == size
        )

    assert copied("pageable", "device", 4 * batch * width) == steps
    assert copied("pageable", "device", 4 * width * width) == layers * (steps + 1)  # the weights once
    assert copied("device", "pageable", 4 * width * width) == layers * steps
