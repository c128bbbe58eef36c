"""`torch-copy` on real GPUs, through the whole command, where PyTorch is installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]

SUITE = """
name = "torch"
title = "PyTorch beside the vendor's copy call"
case_budget_s = 0.5
[[sweep]]
name = "copies"
interface = ["copy", "torch-copy"]
source = ["gpu0:device", "cpu0:pinned"]
destination = "gpu*:device"
executor = "both"
size = ["64KiB", "64MiB", "512MiB"]
"""

#: PyTorch calls the vendor's copy, so that large transfers differ by its events alone.
WITHIN = 0.02
#: Between GPUs it has each wait for the other around every copy, about 14 µs: little of such sizes only.
LARGE_BETWEEN_GPUS = 512 * 2**20


def test_large_copies_are_the_vendors(tmp_path: Path) -> None:
    """Catches launch cost in the figure, one GPU taken for another, and tensors that are not compared."""
    suite = tmp_path / "torch.toml"
    suite.write_text(SUITE)
    folder = tmp_path / "R"
    command = [sys.executable, "-m", "byteways", "run", str(suite), "--out", str(folder), "--no-report"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (folder / "measurements.jsonl").read_text().splitlines()]
    assert {record["status"] for record in records} == {"measured"}
    fastest: dict[tuple[str, int, str], float] = {}
    for record in records:
        if record["size_bytes"] >= 64 * 2**20:
            place = record["path"], record["size_bytes"], record["interface"]
            fastest[place] = max(record["bandwidth_bytes_per_s"], fastest.get(place, 0.0))
    for (path, size, interface), rate in fastest.items():
        between = path.count("gpu") > 1 and len({*path.split(">")}) > 1
        if interface == "torch-copy" and (not between or size >= LARGE_BETWEEN_GPUS):
            assert rate > (1 - WITHIN) * fastest[path, size, "copy"], (path, size)
