"""`byteways watch` of MPI programs: what is counted is what the program does, over each real MPI."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from byteways.ext.watch.bins import Bin
from byteways.ext.watch.folder import WatchFolder, read_watch_folder
from tests.mpi import jobs
from tests.mpi.counting import Rows, watch_rows
from tests.watch.programs import codes, compiled

HERE = Path(__file__).parent
RANKS = 4
#: One MPI of each ABI.
STANDARD = pytest.param(jobs.STANDARD, marks=pytest.mark.slow)
#: Calls and bytes of all ranks by function, of watched.cpp on four ranks, but for calls that are
#: repeated until something has arrived: POLLS.
COUNTS: Rows = {
    "MPI_Init": (4, 0),
    "MPI_Finalize": (4, 0),
    "MPI_Send": (20 + 1 + 16, 2000 + 4 + 4 * (100 + 101 + 102 + 103)),
    "MPI_Recv": (20 + 1, 2000 + 4),
    "MPI_Isend": (12 + 4, 12 * 32768 + 4 * 50),
    "MPI_Irecv": (12 + 16, 12 * 32768 + 4 * (100 + 101 + 102 + 103)),  # what arrived; none that was cancelled
    "MPI_Imrecv": (4, 4 * 50),
    "MPI_Mprobe": (4, 0),
    "MPI_Sendrecv": (4, 16),
    "MPI_Sendrecv:receive": (4, 16),
    "MPI_Isendrecv": (4, 4 * 30),
    "MPI_Isendrecv:receive": (4, 4 * 40),
    "MPI_Send_init": (20, 20 * 1000),
    "MPI_Recv_init": (20, 20 * 1000),
    "MPI_Psend_init": (4, 4 * 256),
    "MPI_Precv_init": (4, 4 * 256),
    "MPI_Pready": (4, 0),
    "MPI_Pready_range": (4, 0),
    "MPI_Waitall": (12 + 20 + 4, 0),
    "MPI_Waitany": (4, 0),
    "MPI_Wait": (4 + 3 * 4 + 4 + 2 * 4 + 4 + 2 * 4 + 4, 0),
    "MPI_Bcast": (4 + 4 + 2, 4 * 64 + 4 * 12 + 2 * 20),  # with those of MPI_Bcast_c; two of four have no part
    "MPI_Reduce": (4, 4 * 32),
    "MPI_Reduce_scatter": (4, 4 * 12),
    "MPI_Allreduce": (20, 20 * 4),
    "MPI_Allreduce_init": (8, 8 * 32),
    "MPI_Allgather": (4 + 4, 4 * 4 * 16 + 12 + 3 * 4),
    "MPI_Gather": (4, 12 + 3 * 12),
    "MPI_Scatterv": (4 + 4, 12 + 3 * 4 + 16 + 3 * 4),
    "MPI_Alltoall": (4, 4 * 4 * 256),
    "MPI_Alltoallv": (4, 12 + 3 * 4),
    # The root knows all blocks, the others their own; with those of MPI_Gatherv_c.
    "MPI_Gatherv": (4 + 4 + 4, 4 * 8 + 3 * 8 + 4 * 12 + 3 * 12 + 12 + 3 * 4),
    "MPI_Iallreduce": (4, 4 * 128),
    "MPI_Barrier": (4, 0),
    "MPI_Neighbor_allgather": (4, 4 * 16),
    "MPI_Neighbor_allgatherv": (4, 4 * 8),
    "MPI_Neighbor_alltoall": (4 + 4, 4 * 24 + 3 * 20),
    "MPI_Neighbor_alltoallv": (4, 4 * 12),
    "MPI_Neighbor_alltoallw": (4, 4 * 8),
    "MPI_Ineighbor_allgather": (4, 4 * 16),
    "MPI_Put": (4, 32),
    "MPI_Get": (4, 32),
    "MPI_Rget": (4, 32),
    "MPI_Accumulate": (4, 32),
    "MPI_Raccumulate": (4, 32),
    "MPI_Get_accumulate": (4, 32),
    "MPI_Fetch_and_op": (4, 32),
    "MPI_Compare_and_swap": (4, 32),
    "MPI_Win_fence": (12, 0),
    "MPI_Win_lock_all": (4, 0),
    "MPI_Win_flush": (4, 0),
    "MPI_Win_unlock_all": (4, 0),
}
POLLS = ("MPI_Test", "MPI_Waitsome")
#: Calls that are seen and not understood.
FILES = "16 calls of 4 kinds"


def linked(
    installation: jobs.Installation, source: Path, name: str, *options: str, compiler: str = "g++"
) -> Path:
    """A program or library of a source file for an MPI."""
    prefix = installation.mpiexec.parents[1]
    pattern = "libmpi_abi.so.*" if installation is jobs.STANDARD else "libmpi.so.*"
    [library] = (prefix / "lib").glob(pattern)
    options = (*options, f"-I{prefix / 'include'}", f"-Wl,-rpath,{library.parent}")
    if compiler == "g++":
        options = (*options, "-std=c++20")
    if installation is jobs.STANDARD:  # its header takes the place of mpi.h
        options = (*options, "-DMPI_INCLUDED", "-include", str(prefix / "include/mpi_abi.h"))
    stem, dot, ending = name.partition(".")
    return compiled(
        f"{stem}-{installation.name}{dot}{ending}", [source, library], *options, compiler=compiler
    )


def built(installation: jobs.Installation, *options: str) -> Path:
    """watched.cpp for an MPI."""
    name = "watched.so" if "-shared" in options else "watched"
    return linked(installation, HERE / "watched.cpp", name, *options)


def watch(
    installation: jobs.Installation, folder: Path, *command: str | Path, ranks: int = RANKS
) -> tuple[jobs.Job, WatchFolder]:
    """A watched job of so many ranks; 0: without a launcher."""
    launcher = [installation.mpiexec, "-n", ranks] if ranks else []
    words = [sys.executable, "-m", "byteways", "watch", "-o", folder, "--", *launcher, *command]
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


def counted(bins: list[Bin]) -> Rows:
    return {name: row for name, row in watch_rows(bins).items() if name not in POLLS}


def check(job: jobs.Job, found: WatchFolder) -> None:
    """All counts, bytes and ranks are the program's, and its results are right."""
    assert job.status == 0 and "WRONG" not in job.output and job.output.count("rank ") >= RANKS, job.output
    assert counted(found.watched.bins) == COUNTS
    [files] = found.problems
    assert files.code == "not-understood" and files.subject.startswith(FILES)
    ranks = {at: process.rank for at, process in enumerate(found.watched.processes)}
    assert sorted(rank for rank in ranks.values() if rank is not None) == [*range(RANKS)]
    for one in found.watched.bins:
        if one.what == "message":
            ends = (one.source.rank, one.destination.rank)
            assert ranks[one.process] in ends
            # A message that was matched first is received without its communicator.
            assert None not in ends or one.method == "MPI_Imrecv"
            assert (one.detail.get("size") == "posted") == (
                one.method == "MPI_Isendrecv" and one.detail["direction"] == "receive"
            )
    # Rank 0 of the part in reverse order is the world's last.
    [part] = [one for one in found.watched.bins if one.method == "MPI_Send" and one.size_to == 4]
    assert (part.source.rank, part.destination.rank) == (RANKS - 1, RANKS - 2)
    # Of the world, and between a rank and the three others.
    assert {one.ranks for one in found.watched.bins if one.what == "collective"} == {RANKS, RANKS - 1, 1}
    in_place = {one.method for one in found.watched.bins if one.detail.get("in_place") == "yes"}
    assert in_place == {"MPI_Allreduce"}
    for_what = Counter[str]()
    for one in found.watched.bins:
        if one.method == "MPI_Wait":
            for_what[str(one.detail.get("requests"))] += one.count
    # Sends and receives, one that was not started; sums; two with windows; a file.
    assert for_what == {"messages": 4 * 3 + 4, "collectives": 4 * 4, "one-sided": 8, "unknown": 4}
    waits = [one for one in found.watched.bins if one.method == "MPI_Waitall"]
    assert all(one.waiting_ns == one.call_ns == one.time_ns and one.waiting_ns for one in waits)


@pytest.mark.parametrize("installation", (jobs.MPICH, jobs.OPEN_MPI, STANDARD), ids=lambda each: each.name)
def test_counts_are_the_programs(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches a call that is not counted or counted twice, and a constant or handle of another ABI."""
    jobs.require(installation)
    check(*watch(installation, tmp_path / "W", built(installation)))


@pytest.mark.parametrize("installation", (*jobs.BOTH, STANDARD), ids=lambda each: each.name)
def test_an_mpi_that_is_opened_for_one_module(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches a layer that finds no MPI behind a module of Python, which opens libmpi for itself alone."""
    jobs.require(installation)
    opener = compiled("opener", [HERE / "opener.c"])
    module = built(installation, "-shared", "-fPIC", "-DMODULE")
    job, found = watch(installation, tmp_path / "W", opener, module)
    check(job, found)
    assert {one.site for one in found.watched.bins} == {module.name}


@pytest.mark.parametrize("installation", (*jobs.BOTH, STANDARD), ids=lambda each: each.name)
def test_a_killed_rank_leaves_its_last_second(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches counts of a killed job that are lost, and a job that looks complete."""
    jobs.require(installation)
    job, found = watch(installation, tmp_path / "W", built(installation), "kill")
    assert job.status != 0
    [dead] = [at for at, process in enumerate(found.watched.processes) if process.rank == 1]
    assert not found.watched.processes[dead].ended and "not-ended" in codes(found)
    assert counted([one for one in found.watched.bins if one.process == dead])["MPI_Isend"] == (
        4,
        3 * 32768 + 50,
    )
