"""Suites on real GPUs: the few cases of every axis in `full`, PyTorch beside the vendor's, a short budget."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from byteways.cli.list import look

pytestmark = pytest.mark.gpu

#: Sweeps of `full` with one kind of case each, which the rest of the suite does not have.
AXES = (
    *("rows", "submit", "calls", "synchronize", "small-copies", "ping-pong", "host-ping-pong"),
    *("loaded-latency", "routes", "memory-cost", "register", "energy"),
)


def records(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Of a run with these words, which has to end well."""
    command = [sys.executable, "-m", "byteways", "run", *words, "--out", "R", "--no-report"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "R" / "measurements.jsonl").read_text().splitlines()]


def test_every_axis_of_full(tmp_path: Path) -> None:
    """Would catch a case of `full` that hardware does not do, and an axis that is skipped as a whole."""
    found = records(tmp_path, "full", "--rounds", "1", "--only", f"sweep={'|'.join(AXES)}")
    measured = {record["interface"] for record in found if record["status"] == "measured"}
    assert measured >= {
        "copy-2d",
        "kernel-2d",
        "launch",
        "event",
        "synchronize",
        "ping-pong",
        "pointer-chase",
    }
    assert measured >= {"allocate", "free", "register", "route", "copy"}
    sweeps = {record["sweep"] for record in found if record["status"] == "measured"}
    assert sweeps >= set(AXES) - {"ping-pong", "routes", "energy"}  # which take two GPUs
    submits = {record["options"].get("submit") for record in found if record["status"] == "measured"}
    assert submits >= {"calls", "graph"}


def test_torch_beside_the_vendors_copy(tmp_path: Path) -> None:
    """Would catch PyTorch's copies that are beyond the vendor's by more than 1 % from 64 MiB on, or below.

    Between GPUs from 512 MiB on: there PyTorch lets each wait for the other around every copy.
    """
    capabilities = look().capabilities
    assert capabilities is not None
    offer = capabilities.interface["gpu0"].get("torch-copy")
    if offer is not None and not offer.available:
        pytest.skip(offer.reason)
    found = records(tmp_path, "torch")
    rounds: dict[tuple[Any, ...], list[float]] = {}
    for record in found:
        if record["status"] == "measured":
            key = (record["source"], record["destination"], record["size_bytes"], record["interface"])
            rounds.setdefault(key, []).append(record["bandwidth_bytes_per_s"])
    figures = {key: median(values) for key, values in rounds.items()}
    both = [key[:3] for key in figures if key[3] == "torch-copy"]
    assert both
    for key in both:
        between = key[0] != key[1] and "cpu" not in key[0] + key[1]
        if key[2] < (512 if between else 64) * 2**20 or "pageable" in key[0] + key[1]:
            continue
        ours, theirs = (figures[(*key, name)] for name in ("copy", "torch-copy"))
        assert theirs == pytest.approx(ours, rel=0.01), key


def test_thirty_seconds_of_a_large_suite(tmp_path: Path) -> None:
    """Would catch a budget that is overrun by half, or that leaves sweeps without a case."""
    found = records(tmp_path, "memory-cost", "--budget", "30")
    manifest = json.loads((tmp_path / "R" / "run.json").read_text())
    assert manifest["wall_s"] < 45
    measured = Counter(record["interface"] for record in found if record["status"] == "measured")
    assert set(measured) >= {"allocate", "free", "register", "unregister", "copy"}
