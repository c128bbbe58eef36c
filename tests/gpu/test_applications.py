"""Application patterns between ranks with a real GPU each, by every transport that is here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from byteways import _core
from tests.mpi import jobs

pytestmark = pytest.mark.gpu

SUITE = """\
name = "applications"
title = "Application patterns"
rounds = 3
precision = 0.05
case_budget_s = 0.1
[[sweep]]
name = "halo"
interface = "halo"
pattern = "halo"
source = "gpu*:device"
destination = "gpu*:device"
executor = "gpu*"
size = ["64KiB", "16MiB"]
options = { transport = [TRANSPORTS], timed = ["iteration", "exchange"] }
[[sweep]]
name = "particles"
interface = "particles"
pattern = "particles"
source = "gpu*:device"
destination = "gpu*:device"
executor = "gpu*"
size = ["256KiB", "16MiB"]
options = { transport = [TRANSPORTS], timed = ["iteration", "exchange"] }
[[sweep]]
name = "memory"
interface = "halo"
pattern = "halo"
source = ["cpu*:registered", "gpu*:managed"]
destination = ["cpu*:pinned", "gpu*:device"]
executor = "gpu*"
size = "1MiB"
options = { transport = "mpi-staged" }
"""
TRANSPORTS = ("mpi", "mpi-staged", "xccl", "hybrid", "copies", "kernels")


def gpus(session: _core.Session) -> int:
    return sum(device.runtime != "host" for device in session.devices)


@pytest.mark.skipif(not jobs.has_launcher(), reason="no MPI launcher")
def test_every_transport_between_gpus(session: _core.Session, tmp_path: Path) -> None:
    """Catches a kernel that the compiler takes otherwise, peer memory that is read before it is written,
    and a message that arrives elsewhere.
    """
    if gpus(session) < 2:
        pytest.skip("one GPU has no neighbour")
    words = ", ".join(f'"{word}"' for word in TRANSPORTS)
    (tmp_path / "toy.toml").write_text(SUITE.replace("TRANSPORTS", words))
    command = [
        sys.executable,
        "-m",
        "byteways",
        "run",
        "toy.toml",
        "--ranks",
        "2",
        "--out",
        "R",
        "--no-report",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (tmp_path / "R" / "measurements.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    bad = [one for one in records if one["status"] not in ("measured", "skipped")]
    assert bad == [], [(one["options"], one["reason"]) for one in bad]
    measured = [one for one in records if one["status"] == "measured"]
    assert all(one["verified"] for one in measured)
    found = {one["options"].get("transport", "mpi") for one in measured if one["sweep"] != "memory"}
    assert {"mpi-staged", "copies", "kernels"} <= found
    for one in records:  # what is missing is MPI's device memory, NCCL, or a buffer that nothing stages
        if one["status"] == "skipped":
            assert one["sweep"] == "memory" or one["options"].get("transport", "mpi") in (
                "mpi",
                "xccl",
                "hybrid",
            )
    print({(one["interface"], one["options"].get("transport", "mpi"), one["engine"]) for one in measured})
