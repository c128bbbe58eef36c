"""The thread level that MPI is started with: the least, unless a variable asks for more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.machine.model import Device, Topology
from byteways.measuring.conduct.rank_checks import check_ranks
from byteways.measuring.shared.launchers import Job, find_launcher
from tests.mpi import jobs

#: Number of each level in MPI, by its word; the standard ABI has others.
LEVELS = {"single": 0, "funneled": 1, "serialized": 2, "multiple": 3}


def level(installation: jobs.Installation, folder: Path, word: str = "") -> int:
    jobs.require(installation)
    command = jobs.python("tests.mpi.rank_program", "threads", folder, "-")
    job = jobs.run(installation, 2, command, {"BYTEWAYS_MPI_THREADS": word} if word else None)
    assert job.status == 0, job.output
    told = {json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)}
    assert len(told) == 1
    return int(told.pop())


@pytest.mark.parametrize("installation", (jobs.MPICH, jobs.OPEN_MPI), ids=lambda one: one.name)
@pytest.mark.parametrize("word", ["", "multiple"])
def test_the_library_has_the_level(installation: jobs.Installation, word: str, tmp_path: Path) -> None:
    """Catches locks that a program with one thread does not take, and a level that is not passed on."""
    assert level(installation, tmp_path, word) == LEVELS[word or "single"]


@pytest.mark.slow
@pytest.mark.parametrize("word", LEVELS)
def test_every_level_of_the_standard_abi(word: str, tmp_path: Path) -> None:
    """Catches the number of another ABI: this one has 0, 1024, 2048 and 4096."""
    assert level(jobs.STANDARD, tmp_path, word) == 1024 * (0, 1, 2, 4)[LEVELS[word]]


def test_an_unknown_level_is_told_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a misspelt level that is taken for the default, or found out by the first case."""
    jobs.require(jobs.MPICH)
    monkeypatch.setenv("BYTEWAYS_MPI_THREADS", "funnelled")
    job = Job(find_launcher(str(jobs.MPICH.mpiexec)), 2)
    with pytest.raises(BytewaysError, match="the 2 ranks did not start") as caught:
        check_ranks(
            job, [], Topology("node", (Device("cpu0", "cpu", "toy"),)), tmp_path / "log", lambda: None
        )
    assert "MPI_Init_thread: funnelled (no thread level: they are single, funneled" in (
        caught.value.cause or ""
    )
