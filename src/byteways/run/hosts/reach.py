"""Finds the hosts on which a launcher starts nothing, by starting a program on halves of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from byteways.run.hosts.launchers import HostsLauncher, write_host_file

#: Seconds for a launcher to start a program that does nothing, and to end: in all, and for each host.
LIMIT_S, LIMIT_HOST_S = 20.0, 0.2
#: Interval of looks at the launcher.
TICK_S = 0.1
#: Each host that fails costs two starts for each halving; with more, the site has another problem.
MOST_STARTS = 200
#: Characters of a launcher's message that a reason quotes.
_QUOTED = 200


def unreachable(
    launcher: HostsLauncher, hosts: Sequence[str], tick: Callable[[], None] = lambda: None
) -> dict[str, str]:
    """Returns the hosts on which nothing starts, with the launcher's words.

    Args:
        launcher: Starts the program.
        hosts: All hosts of a job that did not start.
        tick: Called while waiting; may raise.
    """
    found: dict[str, str] = {}
    starts = 0
    waiting = [list(hosts)]
    while waiting and starts < MOST_STARTS:
        some = waiting.pop()
        starts += 1
        wrong = _wrong(launcher, some, tick)
        if wrong is None:
            continue
        if len(some) == 1:
            found[some[0]] = wrong
            continue
        middle = len(some) // 2
        waiting += [some[middle:], some[:middle]]
    return found


def _wrong(launcher: HostsLauncher, hosts: Sequence[str], tick: Callable[[], None]) -> str | None:
    """Starts a program on hosts; returns why that failed, None if it did not."""
    with tempfile.TemporaryDirectory(prefix="byteways-") as folder:
        file = write_host_file(Path(folder), hosts)
        words = launcher.line(hosts, file, [sys.executable, "-c", "pass"])
        with (Path(folder) / "said").open("w+b") as said:
            job = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, **launcher.launcher.environment},
                start_new_session=True,
            )
            limit_s = LIMIT_S + LIMIT_HOST_S * len(hosts)
            until = time.monotonic() + limit_s
            try:
                while job.poll() is None and time.monotonic() < until:
                    time.sleep(TICK_S)
                    tick()
                late = job.poll() is None
            finally:
                _end(job)
            said.seek(0)
            lines = said.read().decode(errors="replace").split("\n")
            text = next((line.strip() for line in lines if line.strip()), "")[:_QUOTED]
    if late:
        return f"no program started there within {limit_s:.0f} s{f': {text}' if text else ''}"
    return None if job.returncode == 0 else f"no program starts there: {text or job.returncode}"


def _end(job: subprocess.Popen[bytes]) -> None:
    """Ends a launcher and what it started; it has a process group of its own."""
    for number, patience_s in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
        if job.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(patience_s)
