"""The tests of MPICH's source package as programs: those of its lists that two cores can run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.programs.program import Build, Program, ranks

#: Folders of tests that communicate. Left out: ROMIO's files, ranks that die, and what calls few functions.
FOLDERS = (
    *(
        "pt2pt",
        "coll",
        "part",
        "errhan",
        "errors/pt2pt",
        "errors/coll",
        "comm",
        "topo",
        "rma",
        "datatype",
        "spawn",
    ),
    *(
        "threads/pt2pt",
        "threads/coll",
        "f77/pt2pt",
        "f77/coll",
        "f90/pt2pt",
        "f90/coll",
        "f08/pt2pt",
        "f08/coll",
    ),
    *("cxx/pt2pt", "cxx/coll", "cxx/errhan"),
)
MOST_RANKS = 4
#: A test that takes longer alone is left out, and counted, in seconds.
LIMIT_S = 10.0
#: Tests that measure time, or need hundreds of MB.
LEFT_OUT = re.compile(r"large|huge|big|manyrma|lock_contention|.*_perf")

#: With other compilers than MPICH's own: calls of one routine with arguments of different types, and names
#: of MPI-1, which Open MPI's header refuses although its library has them.
_OPTIONS = (
    " \\\n  FFLAGS=-fallow-argument-mismatch FCFLAGS=-fallow-argument-mismatch"
    ' CPPFLAGS="-DOMPI_OMIT_MPI1_COMPAT_DECLS=0 -DOMPI_REMOVED_USE_STATIC_ASSERT=0 -include $PWD/removed.h"'
)
_BEFORE = "echo '#define __mpi_interface_removed__(name, other)' >removed.h\n"

#: Of tests with other MPIs than MPICH: its own MPI_T variables, and functions of MPIX.
_SCRIPT = """
tar --extract --file "$(ls "$SOURCES"/mpich_*.orig.tar.*)" --strip-components=3 --wildcards '*/test/mpi'
rm -rf modules
{before}./configure --quiet CC=mpicc.{mpi} CXX=mpicxx.{mpi} F77=mpif77.{mpi} FC=mpif90.{mpi} \\
  MPICC=mpicc.{mpi} MPICXX=mpicxx.{mpi} MPIF77=mpif77.{mpi} MPIFC=mpif90.{mpi}{options}
make --keep-going --jobs "$(nproc)" -C util >util.log 2>&1 || true
make --keep-going --jobs "$(nproc)" -C dtpools >dtpools.log 2>&1 || true
for folder in {folders}; do
  for common in "${{folder%%/*}}/util"; do
    [ ! -d "$common" ] || make --keep-going --jobs "$(nproc)" -C "$common" >>util.log 2>&1 || true
  done
  make --keep-going --jobs "$(nproc)" -C "$folder" >"$folder/made.log" 2>&1 || true
done
test -x pt2pt/sendrecv2
"""


@dataclass(frozen=True)
class Listed:
    """A line of a list: a program, its ranks, and what the line adds."""

    program: str
    ranks: int
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


def listed(text: str) -> Iterator[Listed]:
    """Yields the lines of a list that name a program on a few ranks; of several for one program the first."""
    seen = set()
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2 or line.startswith("#") or not words[1].isdigit() or words[0] in seen:
            continue
        if any(word.startswith("xfail=") for word in words) or int(words[1]) > MOST_RANKS:
            continue
        seen.add(words[0])
        given = [word[4:].partition("=") for word in words if word.startswith("env=")]
        arguments = tuple(word[4:] for word in words if word.startswith("arg="))
        yield Listed(words[0], int(words[1]), arguments, tuple((name, value) for name, _, value in given))


def mpich_build(mpi: str) -> Build:
    """Returns how the tests are made with an MPI; what this MPI does not have is not made."""
    options, before = ("", "") if mpi == "mpich" else (_OPTIONS, _BEFORE)
    script = _SCRIPT.format(mpi=mpi, folders=" ".join(FOLDERS), options=options, before=before)
    return Build(f"mpich-tests-{mpi}", script)


def mpich_programs(mpi: str, folder: Path) -> tuple[list[Program], int]:
    """Returns the tests that were made in a folder, and the number of listed ones that could not be."""
    found, absent = [], 0
    for part in FOLDERS:
        path = folder / part / "testlist"
        for one in listed(path.read_text(encoding="utf-8")) if path.exists() else ():
            if LEFT_OUT.match(one.program):
                continue
            if not (folder / part / one.program).exists():
                absent += 1
                continue
            found.append(
                Program(
                    f"{mpi}/{part}/{one.program}",
                    f"cd $BUILD/{part} && "
                    + ranks(mpi, one.ranks, " ".join([f"./{one.program}", *one.arguments])),
                    build=mpich_build(mpi),
                    mpi=mpi,
                    group=f"MPICH's tests, {part.split('/')[0]}, {mpi}",
                    status=None,
                    any_order=True,
                    errors=False,  # launchers name hosts and processes of ranks that end with an error
                    limit_s=LIMIT_S,
                    optional=True,
                    environment=dict(one.environment),
                    # Spawned ranks have a world, and ranks in it, of their own.
                    counted=part != "spawn",
                )
            )
    return found, absent
