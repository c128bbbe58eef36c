"""`torch-copy` on real GPUs, through the whole command, where PyTorch is installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.beside_torch import differing_copies

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
    assert differing_copies(folder, 0.02) == []
