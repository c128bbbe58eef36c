"""`byteways watch --import`: traces of other profilers as the folder of a watched program."""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from byteways import __version__
from byteways.base.errors import BytewaysError
from byteways.base.json_text import json_text
from byteways.base.system_errors import cannot_write
from byteways.base.writing import write
from byteways.console.terminal import say
from byteways.ext.watch.bins import FIRST_INTERVAL_NS, Process, TimeLine, Watched
from byteways.ext.watch.folder import PROCESSES, Snapshot, WatchManifest, make_folder, write_manifest
from byteways.ext.watch.problems import Problem
from byteways.ext.watch.traces.collecting import TraceRead, joined
from byteways.ext.watch.traces.scan import watched_of_trace

#: Mistakes of a trace that are printed.
_MOST_PRINTED = 5
_NO_NAME = re.compile(r"[^\w.-]+")
#: Of a file's name, which has also the process and the format.
_MOST_HOST = 100


def import_traces(traces: Sequence[Path], out: Path | None) -> Path:
    """Writes traces as one new folder.

    Args:
        traces: One of each process or rank of a program.
        out: The folder; None: by the first trace and the time.

    Returns:
        The folder.

    Raises:
        BytewaysError: A trace cannot be read, is named twice or empty; or the folder cannot be written.
    """
    if twice := next((trace for trace in traces if traces.count(trace) > 1), None):
        what, cause = f"{twice} is named twice", "what its program moved would count twice"
        raise BytewaysError(what, cause=cause, hint="name it once")
    reads = [watched_of_trace(trace) for trace in traces]
    for trace, read in zip(traces, reads, strict=True):
        _print_mistakes(trace, read)
    if not any(read.watched.bins for read in reads):
        raise BytewaysError(
            f"{' and '.join(map(str, traces[:3]))}: nothing that a program moved",
            cause="the profiler recorded no copies, messages or collectives",
            hint="let it trace the GPU: see docs/guides/traces.md",
        )
    watched = joined([_named(trace, read) for trace, read in zip(traces, reads, strict=True)])
    folder = out or Path(f"byteways-watch-{_file_name(traces[0].stem)}-{time.strftime('%Y%m%d-%H%M%S')}")
    make_folder(folder)
    try:
        _write(folder, watched, _manifest(traces, reads, watched))
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise cannot_write(folder, error, "name another folder with --out") from error
    return folder


def _print_mistakes(trace: Path, read: TraceRead) -> None:
    for mistake in read.mistakes[:_MOST_PRINTED]:
        place = f"{trace}:{mistake.line}" if mistake.line else str(trace)
        say(f"warning: {place}: {mistake.what}; not read")
    if read.unread > _MOST_PRINTED:
        say(f"warning: {trace}: {read.unread - _MOST_PRINTED:,} more could not be read")


def _named(trace: Path, read: TraceRead) -> TraceRead:
    """Returns a trace whose processes have a host: the name of the file where it does not name one.

    Containers give processes of different hosts the same numbers; the name of the file distinguishes them.
    """
    processes = [
        process if process.host else msgspec.structs.replace(process, host=trace.name)
        for process in read.watched.processes
    ]
    watched = msgspec.structs.replace(read.watched, processes=processes)
    return TraceRead(read.format, watched, read.mistakes, read.unread)


def _manifest(traces: Sequence[Path], reads: Sequence[TraceRead], watched: Watched) -> WatchManifest:
    problems = [
        Problem("trace-unread", f"{read.unread:,} of {trace.name}")
        for trace, read in zip(traces, reads, strict=True)
        if read.unread
    ]
    unsized = sum(one.count for one in watched.bins if not one.sized)
    if unsized:
        problems.append(Problem("trace-unsized", f"{unsized:,}"))
    durations = [process.duration_ns for process in watched.processes if process.duration_ns is not None]
    return WatchManifest(
        version=__version__,
        command=[],
        host=platform.node(),
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        options={
            "imported": ", ".join(dict.fromkeys(read.format for read in reads)),
            "traces": shlex.join(trace.name for trace in traces),
        },
        duration_ns=max(durations, default=None),
        problems=problems,
    )


def _write(folder: Path, watched: Watched, manifest: WatchManifest) -> None:
    """Writes a snapshot for each process, and the manifest last. Raises OSError."""
    names: list[str] = []
    for index, process in enumerate(watched.processes):
        bins = [msgspec.structs.replace(one, process=0) for one in watched.bins if one.process == index]
        line = watched.timeline or TimeLine(FIRST_INTERVAL_NS, [])
        series = [msgspec.structs.replace(one, process=0) for one in line.series if one.process == index]
        snapshot = Snapshot(manifest.schema, process, bins, TimeLine(line.interval_ns, series))
        names.append(_snapshot_name(process, names))
        write(folder / PROCESSES / names[-1], json_text(msgspec.to_builtins(snapshot)) + "\n")
    write_manifest(folder, msgspec.structs.replace(manifest, processes=names))


def _snapshot_name(process: Process, taken: Sequence[str]) -> str:
    """Returns HOST-PID-COLLECTOR.json, with a number where that is taken."""
    name = f"{_file_name(process.host)}-{process.pid}-{process.collectors[0]}"
    numbers = (f"{name}{f'-{number}' if number else ''}.json" for number in range(len(taken) + 1))
    return next(each for each in numbers if each not in taken)


def _file_name(text: str) -> str:
    return _NO_NAME.sub("_", text)[:_MOST_HOST] or "trace"
