"""What comparisons with other programs of several ranks share: launcher, runs of byteways, turns, ratios."""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from byteways.answers.results.repeatability import student
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder

#: What was measured: its name and its size in bytes.
Key = tuple[str, int]
#: Nanoseconds of one operation.
Times = Mapping[Key, float]

#: Open MPI refuses to start as root, which a container often is.
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
#: How the text of `mpiexec --version` tells Open MPI; its launcher was called OpenRTE.
_OPEN_MPI = ("Open MPI", "OpenRTE")


def environment(**more: str) -> dict[str, str]:
    """Of this process, with what a launcher needs."""
    return {**os.environ, **_AS_ROOT, **more}


def launcher_of(prefix: str, version: str) -> str:
    """The launcher's words with `{ranks}`; both programs bind their threads themselves.

    Args:
        prefix: What stands before `mpiexec`: a folder with a slash at its end, or nothing.
        version: What `mpiexec --version` prints.
    """
    unbound = " --bind-to none" if any(name in version for name in _OPEN_MPI) else ""
    return f"{prefix}mpiexec -n {{ranks}}{unbound}"


def find_launcher(installation: Path | None) -> tuple[str, str, str]:
    """Prefix of its programs, launcher, and the line of its version: MPICH's launcher has a heading first.

    Args:
        installation: Folder with bin/mpiexec; None: that in PATH.
    """
    prefix = f"{installation}/bin/" if installation else ""
    words = [f"{prefix}mpiexec", "--version"]
    told = subprocess.run(words, capture_output=True, text=True, env=environment()).stdout
    lines = [line.strip() for line in told.splitlines()]
    version = next(
        (line for line in lines if line.startswith("Version:")), lines[0] if lines else "unknown MPI"
    )
    return prefix, launcher_of(prefix, told), version


def launched(launcher: str, ranks: int, words: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a program prints that `ranks` processes run."""
    command = [*launcher.replace("{ranks}", str(ranks)).split(), *words]
    return subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout


def own_records(
    out: Path, suite: str, launcher: str, ranks: int, environment: Mapping[str, str]
) -> list[Record]:
    """Records of a suite that byteways runs.

    Args:
        out: Folder of the run, which does not exist yet; the suite is put beside it.
        suite: Its text.
        launcher: With `{ranks}`; empty: what byteways finds, if it needs one.
        ranks: How many processes, or threads.
        environment: Of byteways.

    Raises:
        RuntimeError: A case has no verified result.
    """
    file = out.with_suffix(".toml")
    file.write_text(suite, encoding="utf-8")
    words = [sys.executable, "-m", "byteways", "run", str(file), "--out", str(out)]
    words += ["--no-report", "--ranks", str(ranks), *(("--launcher", launcher) if launcher else ())]
    subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
    records = list(RunFolder(out).records)
    for record in records:
        if not record.verified or record.time_ns is None:
            raise RuntimeError(f"{record.interface} {record.path} {record.size_bytes}: {record.reason}")
    return records


def interval_of_median(values: Sequence[float]) -> tuple[float, float]:
    """Interval of the median with 95 % confidence at least, by order statistics.

    Fewer than six values have none: it is then the range of the values.
    """
    ordered, count = sorted(values), len(values)
    below, rank = 0.0, 0
    while (below := below + math.comb(count, rank) / 2**count) <= 0.025:
        rank += 1
    return ordered[max(rank - 1, 0)], ordered[count - max(rank, 1)]


def ratio_of(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Geometric mean of ratios and its 95 % interval (Student's t over their logarithms).

    Args:
        ratios: Two at least.
    """
    logs = [math.log(one) for one in ratios]
    half = student(0.05, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    centre = statistics.fmean(logs)
    return math.exp(centre), math.exp(centre - half), math.exp(centre + half)


def ratio_text(ratios: Sequence[float], wanted: tuple[float, float] | None = None) -> str:
    """What ratio_of() returns, as text.

    Args:
        ratios: Two at least.
        wanted: Between which the interval should lie; whether it does is part of the text.
    """
    centre, low, high = ratio_of(ratios)
    text = f"ratio {centre:.3f} ({low:.3f} to {high:.3f})"
    if wanted is None:
        return text
    inside, outside = wanted[0] <= low and high <= wanted[1], high < wanted[0] or low > wanted[1]
    return f"{text}: {'within' if inside else 'outside' if outside else 'not known to be within'} " + (
        f"{wanted[0]:g} to {wanted[1]:g}"
    )


def in_turns(
    pairs: int,
    ours: Callable[[int], Times],
    theirs: Callable[[int], Times],
    wanted: tuple[float, float] | None = None,
) -> Iterator[str]:
    """Runs both in turns; a line for each operation with both medians and the ratio of our time to theirs.

    Every second pair begins with the other program, so that what slows down or speeds up in the meantime
    favours neither.

    Args:
        pairs: How many runs of each, two at least.
        ours: A run of byteways, by number.
        theirs: A run of the other program; both have the same keys.
        wanted: See ratio_text().
    """
    found: defaultdict[Key, list[tuple[float, float]]] = defaultdict(list)
    for number in range(pairs):
        if number % 2:
            other, mine = theirs(number), ours(number)
        else:
            mine, other = ours(number), theirs(number)
        for key, value in other.items():
            found[key].append((mine[key], value))
    yield from lines_of(found, wanted)


def lines_of(
    found: Mapping[Key, Sequence[tuple[float, float]]], wanted: tuple[float, float] | None = None
) -> Iterator[str]:
    """A line for each operation: both medians in ns and the ratio of our time to theirs.

    Args:
        found: Both times of each pair of runs.
        wanted: See ratio_text().
    """
    for (name, size), both in found.items():
        mine_ns, other_ns = (statistics.median(values) for values in zip(*both, strict=True))
        text = ratio_text([a / b for a, b in both], wanted)
        yield f"{name:10}{size:11}{mine_ns:12.0f} and {other_ns:12.0f} ns, {text}"


def pairs_of(text: str) -> int:
    """Of the option `--pairs`.

    Raises:
        ValueError: One pair has no interval.
    """
    if (pairs := int(text)) < 2:
        raise ValueError("an interval needs two pairs at least")
    return pairs
