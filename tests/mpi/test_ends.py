"""A rank that ends before the others: no rank waits forever, and no process is left."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.mpi import jobs

#: Seconds in which the launcher's children are gone after it.
GRACE_S = 20


def alive(process: int) -> bool:
    """Not a zombie, which waits for its parent only."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("installation", jobs.ALL, ids=lambda each: each.name)
@pytest.mark.parametrize("how", ["fails", "exits", "killed"])
def test_a_rank_that_ends_early_ends_all(installation: jobs.Installation, how: str, tmp_path: Path) -> None:
    """Catches a rank that finalizes MPI on its way out of a failure and so waits for the others, which wait
    for it, and ranks that go on as if it were there.
    """
    jobs.require(installation)
    job = jobs.run(installation, 3, jobs.python("tests.mpi.rank_program", "end", tmp_path, how))
    assert not list(tmp_path.glob("*.done")), job.output
    if how != "exits":  # MPICH's launcher now and then calls that a success
        assert job.status != 0, job.output
    assert ("this rank fails" in job.output) == (how == "fails"), job.output
    processes = [int(file.read_text(encoding="utf-8")) for file in tmp_path.glob("*.pid")]
    assert len(processes) == 3 and os.getpid() not in processes
    limit = time.monotonic() + GRACE_S
    while any(map(alive, processes)):
        assert time.monotonic() < limit, f"{installation.name} leaves ranks alive"
        time.sleep(0.05)
