"""`byteways watch` of a PyTorch program on a real GPU: counts and bytes are the program's."""

from __future__ import annotations

import importlib.util
import re
import signal
import sys
from pathlib import Path

import pytest

from byteways.ext.watch.folder import WatchFolder
from tests.watch.programs import codes, watched

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]

TRAIN_STEP = Path(__file__).parents[2] / "examples" / "watch" / "train_step.py"
COUNT = 50
#: As of watched_torch.py, which needs PyTorch.
BESIDE = 67_110_912
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


def test_the_module_that_called(tmp_path: Path) -> None:
    """Catches CUDA's own libraries as callers, and a stack that cannot be searched on this machine."""
    _, found = watched(tmp_path / "W", sys.executable, "-m", "tests.gpu.watched_torch")
    sites = {
        one.site
        for one in found.watched.bins
        if one.what == "copy" and one.size_from == one.size_to and one.size_to in SIZES.values()
    }
    assert sites and all(site and re.match(r"lib(torch|c10)", site) for site in sites), sites


def test_copies_beside_kernels(tmp_path: Path) -> None:
    """Catches kernels whose records are read wrongly: they run during some copies and during no others."""
    done, found = watched(tmp_path / "W", sys.executable, "-m", "tests.gpu.watched_torch", "beside")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr

    def sums(size: int) -> tuple[int, int, int]:
        ones = [one for one in found.watched.bins if one.what == "copy" and one.size_to == size]
        assert all(one.overlap_ns is not None for one in ones)
        return (
            sum(one.count for one in ones),
            sum(one.time_ns or 0 for one in ones),
            sum(one.overlap_ns or 0 for one in ones),
        )

    # 60 products have 6.6e13 operations, which take a second at 67 TFLOP/s; 50 copies of 64 MiB take 60 ms.
    count, time_ns, overlap_ns = sums(BESIDE)
    assert count == COUNT and overlap_ns >= 0.5 * time_ns
    count, time_ns, overlap_ns = sums(BESIDE + 4096)
    assert count == COUNT and overlap_ns <= 0.05 * time_ns


def test_counters_of_the_links(tmp_path: Path) -> None:
    """Catches counters in another unit: what the program brought to the GPU went over PCIe."""
    _, found = watched(tmp_path / "W", sys.executable, "-m", "tests.gpu.watched_torch", "beside")
    links = {(one.device, one.link): one for one in found.manifest.links}
    assert {link for _, link in links} == {"nvlink", "pcie"}
    assert {device for device, _ in links} == {"gpu0"}
    received = links["gpu0", "pcie"].received_bytes
    # Protocol adds some percent; other programs on the machine may add more.
    assert received is None or received >= 2 * COUNT * BESIDE


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
