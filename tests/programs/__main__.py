"""Runs programs that others wrote alone and under every collector, and prints whether they are the same.

    python -m tests.programs                  all of the table
    python -m tests.programs lammps hpcc      those whose name or row begins with a word
    python -m tests.programs --collector memcpy --list

Exit status 1: a program behaves differently, or calls of MPI were counted differently. `make test-programs`
runs this in a chroot that has all of them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from tests.programs.mpich_tests import mpich_build, mpich_programs
from tests.programs.pins import moved
from tests.programs.program import Program
from tests.programs.running import (
    COLLECTORS,
    COUNTED,
    DIFFERENT,
    Place,
    Verdict,
    adopt_orphans,
    built,
    compare,
    made_counter,
    missing,
)
from tests.programs.table import PROGRAMS

#: Compilers of the counter. Intel's MPI has the ABI of MPICH.
_COMPILERS = {"mpich": "mpicc.mpich", "openmpi": "mpicc.openmpi", "intel": "mpicc.mpich"}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginning of a program's name or row")
    names = (*COLLECTORS, COUNTED)
    parser.add_argument("--collector", choices=names, action="append", help="these alone")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth of MPICH's tests")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="programs at a time"
    )
    parser.add_argument("--list", action="store_true", help="names programs and runs none")
    given = parser.parse_args(words)
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    work = Path(tempfile.mkdtemp(prefix="byteways-programs-"))
    place = Place(work, cache / "byteways-programs")
    for pin, here in moved():
        say(f"note: {pin.kind or 'package'} {pin.name} is {here}, tried with {pin.version}")
    for mpi, compiler in _COMPILERS.items():
        if problem := made_counter(mpi, compiler, place):
            say(f"note: {mpi}: calls are not counted a second time: {problem}")
    collectors = given.collector or list(names)
    programs, verdicts = _chosen(given.names, given.every, place)
    if given.list:
        say("\n".join(program.name for program in programs))
        return 0
    ready = []
    problems: dict[str, str] = {}  # of each build
    for program in programs:
        absent = missing(program)
        why = f"not here: {', '.join(absent)}" if absent else ""
        name = program.build.name if program.build else ""
        if not absent and name not in problems:
            problems[name] = built(program, place)
        problem = "" if absent else problems[name]
        if why or problem:
            verdicts.append(Verdict(program, missing=why, failed=problem))
            _say(verdicts[-1])
        else:
            ready.append(program)
    # Each worker ends all that it has started or adopted, which must be of one program.
    with ProcessPoolExecutor(given.jobs, initializer=adopt_orphans) as pool:
        waiting = [pool.submit(_compared, place, collectors, program) for program in ready]
        for done in as_completed(waiting):
            _say(done.result())
    verdicts += [one.result() for one in waiting]
    say("\n" + table(verdicts, collectors))
    bad = [one for one in verdicts if not one.good]
    if bad:
        say(f"\n{len(bad)} of {len(verdicts)} programs are not the same")
        say(f"what runs that differ left: {work}/*/{DIFFERENT}")
        return 1
    shutil.rmtree(work, ignore_errors=True)
    say(f"\nall {len(verdicts)} programs are the same, or differ by a known limitation")
    return 0


def _chosen(names: Sequence[str], every: int, place: Place) -> tuple[list[Program], list[Verdict]]:
    """Returns the programs that were asked for, and builds that failed. MPICH's tests are known when made."""

    def wanted(*given: str) -> bool:
        return not names or any(
            one.startswith(name) or name.startswith(one) for one in given for name in names
        )

    chosen = [one for one in PROGRAMS if wanted(one.name, one.row)]
    failed = []
    for mpi in ("mpich", "openmpi"):
        if not wanted(f"{mpi}/", f"MPICH's tests, {mpi}"):
            continue
        build = Program(f"MPICH's tests, {mpi}", "true", mpich_build(mpi))
        say(f"making {build.name}")
        if problem := built(build, place):
            say(f"    {problem}")
            failed.append(Verdict(build, failed=problem))
            continue
        tests, absent = mpich_programs(mpi, place.folder_of(build))
        say(f"{len(tests)} of {build.name}; {absent} others could not be made")
        chosen += [one for one in tests if wanted(one.name, one.row)][::every]
    return chosen, failed


def _compared(place: Place, collectors: Sequence[str], program: Program) -> Verdict:
    """Compares a program, in a folder of this worker."""
    return compare(program, replace(place, work=place.work / str(os.getpid())), collectors)


def _say(verdict: Verdict) -> None:
    state = "left out" if verdict.missing or verdict.left_out else "same" if verdict.good else "DIFFERS"
    say(f"{time.strftime('%H:%M:%S')} {state:8} {verdict.program.name} ({verdict.seconds:.0f} s)")
    for line in (verdict.missing, verdict.failed, verdict.left_out):
        if line:
            say(f"    {line}")
    for name, seen in verdict.seen.items():
        for what in seen.what:
            say(f"    {name}: {what}")


def table(verdicts: Sequence[Verdict], collectors: Sequence[str]) -> str:
    """Returns a row for each program or group, with how many of it were the same under each collector."""
    rows = [["program", "number", "alone", *collectors]]
    for row in dict.fromkeys(one.program.row for one in verdicts):
        group = [one for one in verdicts if one.program.row == row]
        cells = [_cell([one.kind(name) for one in group if name in one.seen]) for name in collectors]
        rows.append([row, str(len(group)), _counts(Counter(map(_alone, group)), "good"), *cells])
    widths = [max(len(line[at]) for line in rows) for at in range(len(rows[0]))]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in rows]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _alone(verdict: Verdict) -> str:
    if verdict.missing:
        return "missing"
    return "left out" if verdict.left_out else "unusable" if verdict.failed else "good"


def _cell(kinds: Sequence[str]) -> str:
    return _counts(Counter(kinds), "same", "equal") if kinds else "-"


def _counts(kinds: Counter[str], *good: str) -> str:
    """One word if all are alike, else how many of each."""
    if len(kinds) == 1:
        return next(iter(kinds))
    ordered = sorted(kinds, key=lambda kind: kind not in good)
    return ", ".join(f"{kinds[kind]} {kind}" for kind in ordered)


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
