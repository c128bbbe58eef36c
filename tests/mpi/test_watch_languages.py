"""`byteways watch` of MPI programs in Fortran and C++, of calls by other names, and beside a counter."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cache import headers
from tests.mpi import jobs
from tests.mpi.counting import SOURCE, VARIABLE, counter_rows, watch_rows
from tests.mpi.test_watch import COUNTS, HERE, built, counted, linked, watch
from tests.watch.programs import codes, compiled

NATIVE = jobs.ROOT / "native"
#: Calls and bytes of ring.f90 on two ranks.
RING = {
    "MPI_Init": (2, 0),
    "MPI_Allreduce": (100, 800_000),
    "MPI_Send": (50, 400_000),
    "MPI_Recv": (50, 400_000),
    "MPI_Finalize": (2, 0),
}


@pytest.mark.parametrize("installation", jobs.BOTH, ids=lambda each: each.name)
def test_counts_are_those_of_another_counter(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches a call that is counted otherwise than MPI's standard says, in code that reads it anew."""
    jobs.require(installation)
    counter = linked(installation, SOURCE, "libpmpi_counter.so", "-shared", "-fPIC", compiler="gcc")
    preload = f'exec env LD_PRELOAD="$LD_PRELOAD:{counter}" {VARIABLE}={tmp_path / "counts"} "$0"'
    job, found = watch(installation, tmp_path / "W", "sh", "-c", preload, built(installation))
    assert job.status == 0, job.output
    rows = counter_rows(tmp_path / "counts")
    assert watch_rows(found.watched.bins) == rows and len(rows) > len(COUNTS)


def test_profiling_names_count_once(tmp_path: Path) -> None:
    """Catches programs below a binding or tool that calls PMPI_Send: unseen, or counted twice."""
    jobs.require(jobs.MPICH)
    text = re.sub(r"\bMPI_([A-Z]\w*[a-z]\w*)\(", r"PMPI_\1(", (HERE / "watched.cpp").read_text())
    source = tmp_path / "profiling.cpp"
    source.write_text(text)
    job, found = watch(jobs.MPICH, tmp_path / "W", linked(jobs.MPICH, source, "profiling"))
    assert job.status == 0 and "WRONG" not in job.output, job.output
    assert counted(found.watched.bins) == COUNTS


@pytest.mark.parametrize("way", ["throw", "jump"])
@pytest.mark.parametrize("installation", jobs.BOTH, ids=lambda each: each.name)
def test_error_handlers_leave_a_call(installation: jobs.Installation, way: str, tmp_path: Path) -> None:
    """Catches an exception that ends the program, and a layer that counts nothing after it."""
    jobs.require(installation)
    program = linked(installation, HERE / "throwing.cpp", "throwing")
    job, found = watch(installation, tmp_path / "W", program, way, ranks=1)
    assert job.status == 7 and "caught 3" in job.output, job.output
    rows = watch_rows(found.watched.bins)
    assert rows == {"MPI_Init": (1, 0), "MPI_Allreduce": (2, 16), "MPI_Finalize": (1, 0)}


@pytest.mark.parametrize("installation", jobs.BOTH, ids=lambda each: each.name)
def test_a_cancelled_thread(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches a program that is ended because cancellation does not pass."""
    jobs.require(installation)
    program = linked(installation, HERE / "cancelled.c", "cancelled", "-pthread", compiler="gcc")
    job, _ = watch(installation, tmp_path / "W", program, ranks=0)
    assert (job.status, "cancelled" in job.output) == (7, True), job.output


def test_a_launcher_of_another_mpi(tmp_path: Path) -> None:
    """Catches two jobs of one rank that are taken for one of two, and a warning for each process."""
    jobs.require(jobs.OPEN_MPI)
    thrower = linked(jobs.OPEN_MPI, HERE / "throwing.cpp", "throwing")
    _, found = watch(jobs.MPICH, tmp_path / "W", thrower, ranks=2)
    assert [(one.rank, one.ranks) for one in found.watched.processes] == [(0, 1), (0, 1)]
    assert [(one.code, one.subject) for one in found.problems] == [("wrong-launcher", "2")]


def test_an_mpi_that_ends_the_program_as_it_starts(tmp_path: Path) -> None:
    """Catches a program that called MPI and is said to have called nothing: MPICH refuses the launcher."""
    jobs.require(jobs.OPEN_MPI)
    thrower = linked(jobs.MPICH, HERE / "throwing.cpp", "throwing")
    job, found = watch(jobs.OPEN_MPI, tmp_path / "W", thrower, ranks=2)
    assert job.status != 0 and codes(found) == []
    assert {tuple(one.collectors) for one in found.watched.processes} == {("mpi",)}


def test_fortran_names_of_open_mpi(tmp_path: Path) -> None:
    """Catches Open MPI's binding of Fortran unseen, where there is no compiler of Fortran."""
    jobs.require(jobs.DEBIAN)
    [library, *_] = sorted(Path("/usr/lib").glob("*/libmpi_mpifh.so.40"))
    program = compiled("fortran_names", [HERE / "fortran_names.c", library])
    job, found = watch(jobs.DEBIAN, tmp_path / "W", program, ranks=2)
    assert job.status == 0 and "WRONG" not in job.output, job.output
    more = {"MPI_Isend": (2, 16_000), "MPI_Irecv": (2, 16_000), "MPI_Waitall": (2, 0)}
    assert watch_rows(found.watched.bins) == RING | more
    assert sorted(one.rank or 0 for one in found.watched.processes) == [0, 1]


@pytest.mark.parametrize("binding", ["mpi", "mpi_f08"])
@pytest.mark.parametrize("which", ["mpich", "openmpi"])
def test_fortran(which: str, binding: str, tmp_path: Path) -> None:
    """Catches a binding of Fortran whose calls are unseen, or counted at two levels."""
    compiler, launcher = shutil.which(f"mpif90.{which}"), shutil.which(f"mpiexec.{which}")
    # Debian's openmpi-bin has the wrapper alone; the modules come with the files for building.
    modules = list(Path("/usr").glob(f"lib/*/fortran/*/{which}*/mpi.mod"))
    if compiler is None or launcher is None or shutil.which("gfortran") is None or not modules:
        pytest.skip(f"not installed: mpif90.{which}, mpiexec.{which}")
    options = ["-DF08"] if binding == "mpi_f08" else []
    command = [compiler, "-cpp", *options, "-o", tmp_path / "ring", HERE / "ring.f90"]
    subprocess.run(command, check=True, cwd=tmp_path)
    installation = jobs.Installation(which, Path(launcher), "")
    job, found = watch(installation, tmp_path / "W", tmp_path / "ring", ranks=2)
    assert job.status == 0 and "WRONG" not in job.output, job.output
    assert watch_rows(found.watched.bins) == RING and codes(found) == []
    ranks = {at: process.rank for at, process in enumerate(found.watched.processes)}
    assert sorted(rank for rank in ranks.values() if rank is not None) == [0, 1]
    ends = {(one.source.rank, one.destination.rank) for one in found.watched.bins if one.what == "message"}
    assert ends == {(0, 1)}


def test_functions_that_are_not_understood_have_as_many_arguments() -> None:
    """Catches an argument that would be lost on the way, and a request that is none."""
    jobs.require(jobs.MPICH)
    folder = jobs.MPICH.mpiexec.parents[1] / "include"
    header = "".join((folder / name).read_text() for name in ("mpi.h", "mpi_proto.h"))
    declared = {
        name: [one.strip() for one in arguments.split(",")]
        for name, arguments in re.findall(r"^int MPI_(\w+)\(([^)]*)\)", header, re.MULTILINE)
    }
    table = (NATIVE / "watch/mpi/other.def").read_text()
    rows = re.findall(r"^(OTHER|MAKES_REQUEST)\((\w+), (\d+)\)", table, re.MULTILINE)
    assert len(rows) > 40
    for kind, name, number in rows:
        assert len(declared[name]) == int(number), name
        assert declared[name][-1].startswith("MPI_Request *") == (kind == "MAKES_REQUEST"), name


def test_the_table_of_requests() -> None:
    """Catches receives that are lost or counted twice: by threads, with too many requests, by each start."""
    options = ["-std=c++20", "-O2", "-pthread", f"-I{NATIVE}", f"-DHEADERS={headers(NATIVE / 'watch')}"]
    sources = [HERE / "check_requests.cpp", NATIVE / "watch/mpi/requests.cpp"]
    program = compiled("check_requests", sources, *options, compiler="g++")
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("GOOD\n", 0)
