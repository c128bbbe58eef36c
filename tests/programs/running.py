"""Runs programs alone and under collectors, and compares what they did."""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from byteways.base.errors import BytewaysError
from tests.mpi.counting import SOURCE, VARIABLE
from tests.programs.counting import counted_unlike
from tests.programs.program import Program

HERE = Path(__file__).parent
OWN = HERE / "own"
#: Variables that programs may see of those of whoever runs this.
_KEPT = ("PATH", "HOME", "LANG", "TERM", "XDG_CACHE_HOME")
#: A collector may make a program slower; this many times its own time and more is a hang.
HANG_FACTOR = 10
#: Of these, for programs that take milliseconds, in seconds.
HANG_LEAST_S = 30.0
#: More ranks than cores give their core away while they wait, and sums have one order.
SHARED_CORES = {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # a chroot's user may not read other processes
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "I_MPI_FABRICS": "shm",
    "I_MPI_WAIT_MODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "LC_ALL": "C.UTF-8",
}
#: Of each collector the options of `byteways watch`, and how often it runs the program.
COLLECTORS: dict[str, tuple[tuple[str, ...], int]] = {
    "watch": ((), 1),
    "memcpy": (("--memcpy", "64KiB"), 1),
    "hugepage": (("--try", "hugepage", "--repeat", "1"), 2),
}
#: Below the folder of a place: what runs that differ left.
DIFFERENT = "different"
#: A watch beside an independent counter of MPI's calls.
COUNTED = "counted"
#: prctl(2): processes whose parent has ended become ours.
_PR_SET_CHILD_SUBREAPER = 36


#: Open MPI's launcher refuses to start as root, as which continuous integration runs.
_AS_ROOT = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")


@dataclass(frozen=True)
class Once:
    """What a program did in one run."""

    status: str  # exit status; 128 and more: a signal; "hangs"
    out: list[str]
    err: list[str]


@dataclass
class Seen:
    """How a program behaved under one collector."""

    kind: str  # same, differs, equal, unequal
    what: list[str] = field(default_factory=list)  # differences, one a line

    @property
    def good(self) -> bool:
        return self.kind in ("same", "equal")


@dataclass
class Verdict:
    """All that was found of a program; `missing` says why it could not be compared."""

    program: Program
    missing: str = ""
    failed: str = ""  # it cannot be compared although all is there: the build, its own runs
    left_out: str = ""  # the same of an optional program
    seen: dict[str, Seen] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        same = all(one.good for one in self.seen.values()) or bool(self.program.known)
        return not self.missing and not self.failed and same

    def kind(self, name: str) -> str:
        """Returns what was found under a collector, or the known limitation that explains it."""
        seen = self.seen[name]
        return seen.kind if seen.good or not self.program.known else f"known ({self.program.known})"


@dataclass
class Place:
    """Where programs are built and run."""

    work: Path  # a folder for runs and what differs; emptied
    builds: Path  # kept
    counters: dict[str, Path] = field(default_factory=dict)  # of each MPI

    def variables(self, program: Program) -> dict[str, str]:
        """The environment of a program, without settings of whoever runs it."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        folder = str(self.folder_of(program)) if program.build else ""
        own = {name: value.replace("$BUILD", folder) for name, value in program.environment.items()}
        return {**kept, **SHARED_CORES, **_AS_ROOT, "OWN": str(OWN), "BUILD": folder, **own}

    def folder_of(self, program: Program) -> Path:
        assert program.build is not None
        return self.builds / program.build.name


def adopt_orphans() -> None:
    """Lets what programs leave behind become children of this process, so that it can be ended."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def compare(program: Program, place: Place, collectors: Sequence[str]) -> Verdict:
    """Runs a program alone until two runs agree, then under each collector."""
    began = time.monotonic()
    verdict = Verdict(program)
    alone, took_s = _alone(program, place, verdict)
    if alone is not None:
        limit_s = max(HANG_LEAST_S, HANG_FACTOR * took_s)
        for name in collectors:
            if name in COLLECTORS:
                verdict.seen[name] = _under(program, place, name, alone, limit_s)
            elif (
                program.mpi in place.counters and program.counted and alone.status == str(program.status or 0)
            ):
                verdict.seen[name] = _counted(program, place, limit_s)
    verdict.seconds = time.monotonic() - began
    return verdict


def _alone(program: Program, place: Place, verdict: Verdict) -> tuple[Once | None, float]:
    """Returns what a program does alone, and how long it takes; None if two of three runs do not agree."""
    runs: list[Once] = []
    took_s = 0.0
    for _ in range(3):
        began = time.monotonic()
        found = _run(program, place, [], 1, program.limit_s)[0]
        took_s = max(took_s, time.monotonic() - began)
        if found in runs:
            if program.status is not None and found.status != str(program.status):
                verdict.failed = (
                    f"alone it ends with {found.status}: {' / '.join([*found.out, *found.err][-3:])}"
                )
            return found, took_s
        if found.status == "hangs":
            break
        runs.append(found)
    why = f"alone it takes more than {program.limit_s:g} s"
    if len(runs) > 1:
        why = "alone it differs from run to run: " + "; ".join(differences(runs[0], runs[1]))
    if program.optional:
        verdict.left_out = why
    else:
        verdict.failed = why
    return None, took_s


def _under(program: Program, place: Place, name: str, alone: Once, limit_s: float) -> Seen:
    options, expected = COLLECTORS[name]
    runs, said = _watched(program, place, [*options], expected, limit_s * expected)
    found = [one for run in runs for one in differences(alone, run)]
    if len(runs) < expected and not found:
        found.append(f"{len(runs)} of {expected} runs")
    found += [f"byteways: {line}" for line in said.err if "internal error" in line or "Traceback" in line]
    if not found and said.status != alone.status:
        found.append(f"byteways ends with {said.status}, the program with {alone.status}")
    if found and place.work.is_dir():
        kept = place.work / DIFFERENT / f"{program.name.replace('/', '-')}-{name}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(place.work / "runs", kept, symlinks=True, ignore_dangling_symlinks=True)
    return Seen("differs" if found else "same", found)


def _counted(program: Program, place: Place, limit_s: float) -> Seen:
    """Watches a program beside the counter."""
    counts = place.work / "counts"
    shutil.rmtree(counts, ignore_errors=True)
    counts.mkdir(parents=True)
    variables = {"COUNTER": str(place.counters[program.mpi]), VARIABLE: str(counts / "rank")}
    _watched(program, place, [], 1, limit_s, variables)
    try:
        found = counted_unlike(counts / "rank", place.work / "watched")
    except BytewaysError as error:
        found = [f"byteways: {error}"]
    return Seen("unequal" if found else "equal", found)


def _watched(
    program: Program,
    place: Place,
    options: list[str],
    expected: int,
    limit_s: float,
    variables: dict[str, str] | None = None,
) -> tuple[list[Once], Once]:
    """Returns what a program did under byteways, and what byteways itself said."""
    folder = place.work / "watched"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "byteways", "watch", "-o", str(folder), *options, "--"]
    runs = _run(program, place, command, expected, limit_s, variables)
    return runs[:-1], runs[-1]


def _run(
    program: Program,
    place: Place,
    before: list[str],
    expected: int,
    limit_s: float,
    variables: dict[str, str] | None = None,
) -> list[Once]:
    """Runs a program after some words; returns what each of its runs left, and with words what those said."""
    runs = place.work / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    runs.mkdir(parents=True)
    environment = {**place.variables(program), "RUNS": str(runs), **(variables or {})}
    words = ["sh", str(HERE / "once.sh"), program.command]
    if program.direct:
        words = shlex.split(program.command.replace("$BUILD", environment["BUILD"]))
    status, out, err = _started([*before, *words], environment, limit_s)
    if program.direct:
        # What byteways says follows on standard error; a table of its own is nothing of the program.
        direct = [Once(status, program.comparable(out), [])]
        return [*_halves(direct[0], expected), Once(status, [], err.splitlines())] if before else direct
    found = [
        _left(program, folder) for folder in sorted(runs.iterdir(), key=lambda one: one.stat().st_mtime_ns)
    ]
    if status == "hangs":  # whatever the run that was ended has still written
        found[-1:] = [Once("hangs", found[-1].out, found[-1].err) if found else Once("hangs", [], [])]
    if before:
        return [*found, Once(status, out.splitlines(), err.splitlines())]
    return found or [Once(status, [], [])]


def _halves(both: Once, runs: int) -> list[Once]:
    """Divides the output of several equal runs in a row."""
    if runs == 1 or len(both.out) % runs:
        return [both]
    each = len(both.out) // runs
    return [Once(both.status, both.out[at * each : (at + 1) * each], both.err) for at in range(runs)]


def _left(program: Program, folder: Path) -> Once:
    def read(name: str) -> str:
        path = folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    out, err = (read(name).replace(str(folder), "RUN") for name in ("out", "err"))
    errors = program.comparable(err) if program.errors else []
    return Once(read("status").strip() or "none", program.comparable(out), errors)


def _started(command: list[str], environment: dict[str, str], limit_s: float) -> tuple[str, str, str]:
    """Runs a command in a session of its own; ends all that is left of it."""
    before = {*_children(os.getpid())}
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=limit_s)
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        ended = str(status)
    except subprocess.TimeoutExpired:
        _end_children(before)
        out, err = b"", b""
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, err = process.communicate(timeout=10)
        ended = "hangs"
    _end_children(before)
    return ended, out.decode(errors="replace"), err.decode(errors="replace")


def _end_children(kept: set[int]) -> None:
    """Kills what this process has started or adopted since it had these children."""
    for _ in range(100):
        ended = [one for one in _children(os.getpid()) if one not in kept]
        if not ended:
            return
        for child in ended:
            for one in [child, *_descendants(child)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)


def _children(process: int) -> list[int]:
    try:
        tasks = [*Path(f"/proc/{process}/task").iterdir()]
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has ended
        return []


def _descendants(process: int) -> Iterator[int]:
    for child in _children(process):
        yield from _descendants(child)
        yield child


def differences(alone: Once, other: Once) -> list[str]:
    """Returns how a run differs from the one alone, a line each."""
    found = [f"status {alone.status} -> {other.status}"] if alone.status != other.status else []
    for stream, before, after in (("out", alone.out, other.out), ("err", alone.err, other.err)):
        if before != after:
            changed = [*difflib.unified_diff(before, after, n=0, lineterm="")][2:]
            shown = [one[:160] for one in changed if not one.startswith("@@")]
            more = f" (and {len(shown) - 4} lines)" if len(shown) > 4 else ""
            found.append(f"{stream}: " + " | ".join(shown[:4]) + more)
    return found


def missing(program: Program) -> list[str]:
    """Returns the programs and files that a program needs and that are not here."""
    needs = [*program.needs, *(program.build.needs if program.build else ())]
    return [one for one in needs if shutil.which(one) is None and not Path(one).exists()]


def built(program: Program, place: Place) -> str:
    """Makes what a program needs, unless that is kept; returns why it cannot be made, or nothing."""
    build = program.build
    if build is None:
        return ""
    folder, sources = place.folder_of(program), os.environ.get("SOURCES", "/usr/src/packages")
    archives = [one.name for one in sorted(Path(sources).glob("*.dsc"))]
    used = [one.read_text(encoding="utf-8") for one in sorted(OWN.iterdir()) if one.name in build.script]
    inputs = json.dumps([build.script, archives, used])
    done, log = folder / "built.json", folder / "build.log"
    if done.exists() and done.read_text(encoding="utf-8") == inputs:
        return ""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with log.open("wb") as stream:
        ended = subprocess.run(
            ["sh", "-eu", "-c", build.script],
            cwd=folder,
            env={**os.environ, "OWN": str(OWN), "SOURCES": sources},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    if ended.returncode:
        last = " / ".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])
        return f"its build ended with {ended.returncode}: {last}"
    done.write_text(inputs, encoding="utf-8")
    return ""


def made_counter(mpi: str, compiler: str, place: Place) -> str:
    """Compiles the counter of MPI's calls for an MPI; returns why it cannot be."""
    library = place.builds / f"pmpi_counter_{mpi}.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    made = library.with_suffix(f".{os.getpid()}")  # another run may have loaded the one that is there
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(SOURCE), "-ldl"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return f"{compiler} is missing"
    if ended.returncode:
        return f"{compiler} cannot compile the counter: {ended.stderr[:300]}"
    made.replace(library)
    place.counters[mpi] = library
    return ""
