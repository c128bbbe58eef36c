"""`byteways watch` of MPI programs: what is counted is what the program does, over each real MPI."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from byteways.watch.bins import Bin
from byteways.watch.folder import WatchFolder, read_watch_folder
from tests.mpi import jobs
from tests.watch.programs import codes, compiled

HERE = Path(__file__).parent
RANKS = 4
#: One MPI of each ABI.
ABIS = (jobs.MPICH, jobs.OPEN_MPI, pytest.param(jobs.STANDARD, marks=pytest.mark.slow))
#: count and bytes of all ranks by method, of watched.cpp on four ranks.
COUNTS = {
    "MPI_Send": (20 + 1, 2000 + 4),
    "MPI_Recv": (20 + 1, 2000 + 4),
    "MPI_Isend": (12, 12 * 32768),
    "MPI_Irecv": (12, 12 * 32768),
    "MPI_Sendrecv": (8, 32),
    "MPI_Waitall": (12, 0),
    "MPI_Wait": (4, 0),
    "MPI_Bcast": (4 + 4, 4 * 64 + 4 * 12),  # with those of MPI_Bcast_c
    "MPI_Reduce": (4, 4 * 32),
    "MPI_Allreduce": (20, 20 * 4),
    "MPI_Allgather": (4, 4 * 4 * 16),
    "MPI_Alltoall": (4, 4 * 4 * 256),
    # The root knows all blocks, the others their own; with those of MPI_Gatherv_c.
    "MPI_Gatherv": (4 + 4, 4 * 8 + 3 * 8 + 4 * 12 + 3 * 12),
    "MPI_Iallreduce": (4, 4 * 128),
    "MPI_Barrier": (4, 0),
    "MPI_Put": (4, 32),
    "MPI_Get": (4, 32),
    "MPI_Win_fence": (12, 0),
}


def built(installation: jobs.Installation, *options: str) -> Path:
    """watched.cpp for an MPI."""
    prefix = installation.mpiexec.parents[1]
    pattern = "libmpi_abi.so.*" if installation is jobs.STANDARD else "libmpi.so.*"
    [library] = (prefix / "lib").glob(pattern)
    options = (*options, "-std=c++20", f"-I{prefix / 'include'}", f"-Wl,-rpath,{library.parent}")
    if installation is jobs.STANDARD:  # its header takes the place of mpi.h
        options = (*options, "-DMPI_INCLUDED", "-include", str(prefix / "include/mpi_abi.h"))
    name = f"watched-{installation.name}{'.so' if '-shared' in options else ''}"
    return compiled(name, [HERE / "watched.cpp", library], *options, compiler="g++")


def watch(
    installation: jobs.Installation, folder: Path, *command: str | Path
) -> tuple[jobs.Job, WatchFolder]:
    """A watched job of four ranks."""
    words = [
        sys.executable,
        "-m",
        "byteways",
        "watch",
        "-o",
        folder,
        "--",
        installation.mpiexec,
        "-n",
        RANKS,
        *command,
    ]
    done = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **jobs.ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=jobs.PATIENCE_S,
        check=False,
    )
    return jobs.Job(done.returncode, done.stdout + done.stderr), read_watch_folder(folder)


def counted(bins: list[Bin]) -> dict[str, tuple[int, int]]:
    counts, sizes = Counter[str](), Counter[str]()
    for one in bins:
        counts[one.method] += one.count
        sizes[one.method] += one.bytes
    return {method: (counts[method], sizes[method]) for method in counts}


def check(job: jobs.Job, found: WatchFolder) -> None:
    """All counts, bytes and ranks are the program's, and its results are right."""
    assert job.status == 0 and "WRONG" not in job.output and job.output.count("rank ") >= RANKS, job.output
    assert counted(found.watched.bins) == COUNTS
    assert codes(found) == []
    ranks = {at: process.rank for at, process in enumerate(found.watched.processes)}
    assert sorted(rank for rank in ranks.values() if rank is not None) == [*range(RANKS)]
    for one in found.watched.bins:
        if one.what == "message":
            ends = (one.source.rank, one.destination.rank)
            assert ranks[one.process] in ends and None not in ends
    # Rank 0 of the part in reverse order is the world's last.
    [part] = [one for one in found.watched.bins if one.method == "MPI_Send" and one.size_to == 4]
    assert (part.source.rank, part.destination.rank) == (RANKS - 1, RANKS - 2)
    assert {one.ranks for one in found.watched.bins if one.what == "collective"} == {RANKS}
    in_place = {one.method for one in found.watched.bins if one.detail.get("in_place") == "yes"}
    assert in_place == {"MPI_Allreduce"}
    waits = [one for one in found.watched.bins if one.method == "MPI_Waitall"]
    assert all(one.waiting_ns == one.call_ns == one.time_ns and one.waiting_ns for one in waits)


@pytest.mark.parametrize("installation", ABIS, ids=lambda each: each.name)
def test_counts_are_the_programs(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches a call that is not counted or counted twice, and a constant or handle of another ABI."""
    jobs.require(installation)
    check(*watch(installation, tmp_path / "W", built(installation)))


@pytest.mark.parametrize("installation", ABIS, ids=lambda each: each.name)
def test_an_mpi_that_is_opened_for_one_module(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches a layer that finds no MPI behind a module of Python, which opens libmpi for itself alone."""
    jobs.require(installation)
    opener = compiled("opener", [HERE / "opener.c"])
    module = built(installation, "-shared", "-fPIC", "-DMODULE")
    job, found = watch(installation, tmp_path / "W", opener, module)
    check(job, found)
    assert {one.site for one in found.watched.bins} == {module.name}


@pytest.mark.parametrize("installation", ABIS, ids=lambda each: each.name)
def test_a_killed_rank_leaves_its_last_second(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches counts of a killed job that are lost, and a job that looks complete."""
    jobs.require(installation)
    job, found = watch(installation, tmp_path / "W", built(installation), "kill")
    assert job.status != 0
    [dead] = [at for at, process in enumerate(found.watched.processes) if process.rank == 1]
    assert not found.watched.processes[dead].ended and "not-ended" in codes(found)
    assert counted([one for one in found.watched.bins if one.process == dead])["MPI_Isend"] == (3, 3 * 32768)
