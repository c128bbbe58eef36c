"""The folder of a watched program: `watch.json`, and the snapshots that its processes left in `processes`.

Snapshots come from other processes, which may have been killed, or from a full disk: one that cannot be read
is a problem with its name.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from byteways.base.decoding import decoded
from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_MANIFEST_BYTES, read_bytes
from byteways.base.json_text import json_text
from byteways.base.system_errors import unusable
from byteways.base.writing import write
from byteways.ext.watch.bins import FIRST_INTERVAL_NS, Bin, Process, Series, Sum, TimeLine, Watched
from byteways.ext.watch.problems import Problem

#: Names in the folder.
WATCH_MANIFEST = "watch.json"
PROCESSES = "processes"
#: Of what this version writes and reads; a snapshot has the same number.
WATCH_SCHEMA = 1
#: A code that one problem has for all processes.
_WRONG_LAUNCHER = "wrong-launcher"
#: Calls that are named of those that were not understood.
_MOST_NAMES = 4
#: A snapshot of the most bins has 2 MB.
MOST_SNAPSHOT_BYTES = 16 << 20


class LinkBytes(msgspec.Struct, frozen=True):
    """What the counters of a GPU's links have seen between two readings, whoever moved the bytes."""

    device: str
    link: str  # nvlink: all its links to other GPUs; pcie
    sent_bytes: Sum | None  # None: the driver has no such counter
    received_bytes: Sum | None
    from_ns: int  # of the first reading, since the command's start
    to_ns: int  # of the last


class WatchManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What was watched. No environment variables: they may have secrets."""

    schema: int = WATCH_SCHEMA
    version: str  # of byteways
    command: list[str]
    host: str
    started_at: str  # UTC, ISO 8601
    options: dict[str, str | int | bool] = {}
    duration_ns: Sum | None = None  # None: it still runs, or `byteways watch` was killed
    exit_status: int | None = None  # of the command; None if a signal ended it
    signal: int | None = None  # that ended the command
    processes: list[str] = []  # files of snapshots
    problems: list[Problem] = []
    topology: dict[str, Any] | None = None  # as in run.json
    links: list[LinkBytes] = []  # of the GPUs of this host that its processes used
    simulated: bool = False  # GPUs were those of the simulator; its times are not measured
    machine_model: dict[str, Any] | None = None  # of a simulated machine, as in run.json


class Snapshot(msgspec.Struct, frozen=True):
    """What one process and collector left."""

    schema: int
    process: Process
    bins: list[Bin]
    timeline: TimeLine


class WatchFolder(msgspec.Struct, frozen=True):
    """All of a folder; `problems` has those of the manifest and of the snapshots."""

    manifest: WatchManifest
    watched: Watched
    problems: list[Problem]


def make_folder(folder: Path, *, of_one: bool = True) -> None:
    """Makes a new folder, of one run of a program or several. Raises BytewaysError if it cannot be made."""
    try:
        folder.mkdir(parents=True)
        if of_one:
            (folder / PROCESSES).mkdir()
    except FileExistsError as error:
        raise BytewaysError(
            f"{folder} exists",
            cause="each watched program has a folder of its own",
            hint="name another with --out",
        ) from error
    except OSError as error:
        raise unusable(f"cannot make {folder}", error, "name another folder with --out") from error


def write_manifest(folder: Path, manifest: WatchManifest) -> None:
    """Writes watch.json. Raises OSError; the previous one is intact."""
    write(folder / WATCH_MANIFEST, json_text(msgspec.to_builtins(manifest), indent=1) + "\n")


def snapshot_files(folder: Path) -> list[Path]:
    """Returns the files of snapshots in their order. Raises OSError."""
    return sorted(
        Path(entry.path) for entry in os.scandir(folder / PROCESSES) if entry.name.endswith(".json")
    )


def read_watch_folder(folder: Path) -> WatchFolder:
    """Reads a folder.

    Raises:
        BytewaysError: It is not the folder of a watched program.
    """
    hint = "name the folder that `byteways watch` made"
    try:
        text = read_bytes(folder / WATCH_MANIFEST, MOST_MANIFEST_BYTES)
        files = snapshot_files(folder)
    except OSError as error:
        raise unusable(f"{folder} is not the folder of a watched program", error, hint) from error
    try:
        manifest: WatchManifest = decoded(text, WatchManifest)
    except ValueError as error:
        raise BytewaysError(f"{folder / WATCH_MANIFEST} is damaged", cause=str(error), hint=hint) from error
    if manifest.schema > WATCH_SCHEMA:
        raise BytewaysError(
            f"{folder} is of a newer version of byteways", hint="pip install --upgrade byteways"
        )
    watched, problems = read_snapshots(files)
    return WatchFolder(manifest, watched, [*manifest.problems, *problems])


def read_snapshots(files: Sequence[Path]) -> tuple[Watched, list[Problem]]:
    """Returns what snapshots have, together, and what is missing from it."""
    problems: list[Problem] = []
    snapshots = [*_good(files, problems)]
    processes: list[Process] = []
    places: dict[tuple[str, int, str], int] = {}
    bins: list[Bin] = []
    lines: list[tuple[int, TimeLine]] = []
    for file, snapshot in snapshots:
        found = snapshot.process
        place = places.setdefault((found.host, found.pid, found.program), len(processes))
        if place == len(processes):
            processes.append(found)
        else:
            processes[place] = _joined(processes[place], found)
        bins += [msgspec.structs.replace(one, process=place) for one in snapshot.bins]
        if _is_usable(snapshot.timeline):
            lines.append((place, snapshot.timeline))
        else:
            problems.append(Problem("unreadable-time-line", file.name))
    problems += _of_processes(processes)
    problems += _not_understood(bins)
    if not snapshots and not problems:
        problems.append(Problem("no-snapshots"))
    return Watched(processes, bins, _one_line(lines)), problems


def _good(files: Sequence[Path], problems: list[Problem]) -> Iterator[tuple[Path, Snapshot]]:
    for file in files:
        try:
            snapshot: Snapshot = decoded(read_bytes(file, MOST_SNAPSHOT_BYTES), Snapshot)
        except (OSError, ValueError):
            problems.append(Problem("damaged-snapshot", file.name))
            continue
        if snapshot.schema > WATCH_SCHEMA:
            problems.append(Problem("newer-snapshot", file.name))
        else:
            yield file, snapshot


def _joined(one: Process, other: Process) -> Process:
    """Returns a process that two collectors have watched."""
    times = [time for time in (one.duration_ns, other.duration_ns) if time is not None]
    return msgspec.structs.replace(
        one,
        rank=one.rank if one.rank is not None else other.rank,
        ranks=one.ranks if one.ranks is not None else other.ranks,
        collectors=[*dict.fromkeys([*one.collectors, *other.collectors])],
        failures=[*dict.fromkeys([*one.failures, *other.failures])],
        duration_ns=max(times, default=None),
        ended=one.ended and other.ended,
        lost=one.lost + other.lost,
    )


def _of_processes(processes: Sequence[Process]) -> Iterator[Problem]:
    """Yields what is missing, as the processes show it."""
    for ranks in sorted({one.ranks for one in processes if one.ranks}):
        # A script may start several jobs of as many ranks.
        absent = -sum(one.ranks == ranks for one in processes) % ranks
        if absent:
            yield Problem("ranks-missing", f"{absent} of {ranks}")
    cut = sum(not one.ended for one in processes)
    if cut:
        yield Problem("not-ended", f"{cut} of {len(processes)} processes")
    if lost := sum(one.lost for one in processes):
        yield Problem("lost", f"{lost:,}")
    if alone := sum(_WRONG_LAUNCHER in one.failures for one in processes):
        yield Problem(_WRONG_LAUNCHER, str(alone))
    for process in processes:
        codes = (code for code in process.failures if code != _WRONG_LAUNCHER)
        yield from (Problem(code, f"{process.program} ({process.pid})") for code in codes)


def _not_understood(bins: Sequence[Bin]) -> Iterator[Problem]:
    """Yields the calls that were seen and that no row of bytes stands for, the most frequent first."""
    calls = Counter[str]()
    for one in bins:
        if one.what == "other":
            calls[one.method] += one.count
    if calls:
        names = ", ".join(name for name, _ in calls.most_common(_MOST_NAMES))
        more = ", …" if len(calls) > _MOST_NAMES else ""
        kinds = f"{len(calls)} kind{'s' * (len(calls) != 1)}"
        number = calls.total()
        yield Problem("not-understood", f"{number:,} call{'s' * (number != 1)} of {kinds} ({names}{more})")


def _is_usable(line: TimeLine) -> bool:
    times, rest = divmod(line.interval_ns, FIRST_INTERVAL_NS)
    return times > 0 and rest == 0 and times & (times - 1) == 0


def _one_line(lines: Sequence[tuple[int, TimeLine]]) -> TimeLine | None:
    """Joins the time lines of processes, which begin together, in intervals of the longest."""
    if not lines:
        return None
    interval = max(line.interval_ns for _, line in lines)
    series = []
    for process, line in lines:
        width = interval // line.interval_ns
        for one in line.series:
            starts = range(0, len(one.bytes), width)
            joined = [sum(one.bytes[start : start + width]) for start in starts]
            series.append(Series(one.what, process, joined))
    return TimeLine(interval, series)
