"""Finds the hosts on which a launcher starts nothing, by starting a program on halves of them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from byteways.base.private_folder import private_folder
from byteways.base.safe_folders import folder_of_children, temporary_base
from byteways.measuring.hosts.launchers import HostsLauncher, write_host_file

#: Seconds for a launcher to start a program that does nothing, and to end: in all, and for each host.
LAUNCH_LIMIT_S, LAUNCH_LIMIT_HOST_S = 20.0, 0.2
#: Interval of looks at the launcher.
LOOK_INTERVAL_S = 0.1
#: Each host that fails costs two starts for each halving; with more, the site has another problem.
MOST_STARTS = 200
#: Characters of a launcher's message that a reason quotes.
_QUOTED = 200
#: How a launcher begins a line on an error: `srun: error: …`.
_ERROR = re.compile(r"\S+: (?:error|fatal): ")


@dataclass(frozen=True)
class HostSearch:
    """What a search found. A host in neither field is reached."""

    failed: Mapping[str, str]  # the launcher's message by host
    not_tried: tuple[str, ...] = ()  # their group failed, and the starts were used up


def search(
    launcher: HostsLauncher,
    hosts: Sequence[str],
    tick: Callable[[], None] = lambda: None,
    most_starts: int = MOST_STARTS,
) -> HostSearch:
    """Finds the hosts on which nothing starts.

    Args:
        launcher: Starts the program.
        hosts: All hosts of a job that did not start.
        tick: Called while waiting; may raise.
        most_starts: Limit of the starts. Groups that wait for their start then are not tried.
    """
    failed: dict[str, str] = {}
    starts = 0
    waiting = [list(hosts)]
    while waiting and starts < most_starts:
        group = waiting.pop()
        starts += 1
        wrong = _wrong(launcher, group, tick)
        if wrong is None:
            continue
        if len(group) == 1:
            failed[group[0]] = wrong
            continue
        middle = len(group) // 2
        waiting += [group[middle:], group[:middle]]
    return HostSearch(failed, tuple(host for group in reversed(waiting) for host in group))


def _wrong(launcher: HostsLauncher, hosts: Sequence[str], tick: Callable[[], None]) -> str | None:
    """Starts a program on hosts; returns why that failed, None if it did not."""
    with private_folder() as folder:
        file = write_host_file(folder, hosts)
        words = launcher.line(hosts, file, [sys.executable, "-c", "pass"])
        most_s = limit_s(len(hosts))
        status, said = output_of(words, launcher.launcher.environment, most_s, tick)
    text = _telling_line(said)
    if status is None:
        return f"no program started there within {most_s:.0f} s{f': {text}' if text else ''}"
    return None if status == 0 else f"no program starts there: {text or status}"


def _telling_line(said: str) -> str:
    """Returns the first line that a launcher itself calls an error, or else its first one: srun first warns
    of options that a site has no use for.
    """
    lines = [line.strip() for line in said.split("\n") if line.strip()]
    errors = (line for line in lines if _ERROR.match(line))
    return next(errors, lines[0] if lines else "")[:_QUOTED]


def limit_s(hosts: int) -> float:
    """Returns the seconds for a launcher to start a program on so many hosts, and to end."""
    return LAUNCH_LIMIT_S + LAUNCH_LIMIT_HOST_S * hosts


def output_of(
    words: Sequence[str], environment: Mapping[str, str], most_s: float, tick: Callable[[], None]
) -> tuple[int | None, str]:
    """Runs a launcher. Returns its exit status, None if it was ended after `most_s`, and what it printed."""
    with tempfile.TemporaryFile(dir=temporary_base()) as said:
        job = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env={**os.environ, **environment},
            start_new_session=True,
            cwd=folder_of_children(),
        )
        until = time.monotonic() + most_s
        try:
            while job.poll() is None and time.monotonic() < until:
                time.sleep(LOOK_INTERVAL_S)
                tick()
            status = job.poll()
        finally:
            _end(job)
        said.seek(0)
        return status, said.read().decode(errors="replace")


def _end(job: subprocess.Popen[bytes]) -> None:
    """Ends a launcher and what it started; it has a process group of its own."""
    for number, patience_s in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
        if job.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(patience_s)
