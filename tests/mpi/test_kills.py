"""Ranks that are killed or stopped at random times: no run hangs, loses a record or leaves a process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.mpi import jobs
from tests.mpi.test_runs import CASES, command, environment, ranks_of

#: The latest time of a kill, in seconds after the start of the run; it takes a few seconds longer.
LATEST_S = 6.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_rank_killed_at_any_time(seed: int, tmp_path: Path) -> None:
    """Catches a run that hangs, records that are lost or damaged, and processes that are left over."""
    chance = random.Random(seed)
    installation = (jobs.MPICH, jobs.OPEN_MPI)[seed % 2]
    jobs.require(installation)
    run = subprocess.Popen(
        command(installation, tmp_path),
        env=environment(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(chance.uniform(0.2, LATEST_S))
    victims = ranks_of(tmp_path)
    if victims:
        os.kill(chance.choice(victims), chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGABRT]))
    _, said = run.communicate(timeout=200)
    assert ranks_of(tmp_path) == [], said
    assert "Traceback" not in said
    folder = tmp_path / "R"
    if not folder.exists():  # the first ranks, which only look at the machine, were killed
        assert run.returncode == 2 and "\nerror: the 2 ranks did not start" in said, said
        return
    records = [json.loads(line) for line in (folder / "measurements.jsonl").read_text().splitlines()]
    assert len(records) == CASES
    lost = [record for record in records if record["status"] != "measured"]
    assert len(lost) <= 1 and run.returncode == (1 if lost else 0), said
    for record in lost:
        assert record["status"] == "lost" and "process" in record["reason"], (
            record["status"],
            record["reason"],
        )
