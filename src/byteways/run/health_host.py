"""Load of the host around a case: what other processes, the hypervisor and the control group took of it.

Of real machines only: a simulated one must not depend on what runs beside it.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byteways.results import warnings
from byteways.results.record import Warning
from byteways.results.warnings import BUSY_SHARE, STEAL_SHARE

#: The kernel counts processor time in ticks of 10 ms. Over half a second of two cores one tick is 1 %; a
#: shorter case is judged together with what came before it, and nothing is judged over less.
LEAST_WINDOW_S = 0.5


@dataclass(frozen=True)
class HostReading:
    """Counters of the cores that this process may use. None is what the kernel does not tell."""

    at_s: float
    load_1min: float | None  # tasks that run or wait, over the last minute
    runnable: int | None  # tasks that run or wait for a core now
    total_ticks: int
    idle_ticks: int
    steal_ticks: int  # the hypervisor ran something else
    own_ticks: int  # of this process and of the one that conducts it
    throttled_s: float | None  # the control group's quota was used up


@dataclass(frozen=True)
class HostLoad:
    """Between two readings. Shares are of all the time of the cores that may be used; None: not told."""

    window_s: float
    cores: int
    load_1min: float | None
    runnable: int | None
    idle: float | None
    others: float | None
    steal: float | None
    throttled_s: float | None

    def to_json(self) -> dict[str, Any]:
        """The field `health.host` of a record."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def warnings(self) -> list[Warning]:
        """Empty over less than LEAST_WINDOW_S."""
        if self.window_s < LEAST_WINDOW_S:
            return []
        found = []
        if self.others is not None and self.others > BUSY_SHARE:
            found.append(warnings.make("host-busy", self.others, BUSY_SHARE))
        if self.steal is not None and self.steal > STEAL_SHARE:
            found.append(warnings.make("steal", self.steal, STEAL_SHARE))
        if self.throttled_s:
            found.append(warnings.make("cpu-throttled", self.throttled_s, 0))
        return found


class HostMonitor:
    """Reads the load before and after each case.

    Args:
        root: Of the file system that has /proc and /sys.
        cores: That this process may use; None: as the kernel says.
        clock: Seconds, monotonic.
        processes: Ids of those that measure, whose own load does not count; none: this one and its parent.
    """

    def __init__(
        self,
        root: Path = Path("/"),
        cores: Collection[int] | None = None,
        clock: Callable[[], float] = time.monotonic,
        processes: Collection[int] = (),
    ) -> None:
        self._processes = [*map(str, processes)] or ["self", str(os.getppid())]
        self._proc = root / "proc"
        self._cores = frozenset(os.sched_getaffinity(0) if cores is None else cores)
        self._clock = clock
        self._groups = control_groups("cpu", root / "sys", self._proc)
        self._readings = deque([self.read()])

    def begin(self) -> None:
        """Before a case."""
        self._readings.append(self.read())

    def end(self) -> HostLoad:
        """After a case: over it, and over as much before it as LEAST_WINDOW_S needs."""
        last = self.read()
        while len(self._readings) > 1 and last.at_s - self._readings[1].at_s >= LEAST_WINDOW_S:
            self._readings.popleft()
        first = self._readings[0]
        self._readings.append(last)
        return self._between(first, last)

    def read(self) -> HostReading:
        total, idle, steal = self._ticks()
        load = (_text(self._proc / "loadavg") or "").split()
        told = len(load) > 3 and "/" in load[3]
        return HostReading(
            self._clock(),
            float(load[0]) if told else None,
            int(load[3].partition("/")[0]) if told else None,
            total,
            idle,
            steal,
            sum(_process_ticks(self._proc / name / "stat") for name in self._processes),
            throttled_s(self._groups),
        )

    def _ticks(self) -> tuple[int, int, int]:
        """(all, idle, stolen) of the cores that may be used (proc_stat(5))."""
        total = idle = steal = 0
        for line in (_text(self._proc / "stat") or "").splitlines():
            name, *fields = line.split()
            if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in self._cores:
                ticks = [int(field) for field in fields[:8]]  # guests' time is part of the user's
                total += sum(ticks)
                idle += sum(ticks[3:5])
                steal += sum(ticks[7:8])
        return total, idle, steal

    def _between(self, first: HostReading, last: HostReading) -> HostLoad:
        total = last.total_ticks - first.total_ticks

        def share(ticks: int) -> float | None:
            return round(min(max(ticks / total, 0.0), 1.0), 4) if total > 0 else None

        idle, steal = last.idle_ticks - first.idle_ticks, last.steal_ticks - first.steal_ticks
        throttled = None
        if first.throttled_s is not None and last.throttled_s is not None:
            throttled = round(last.throttled_s - first.throttled_s, 6)
        return HostLoad(
            round(last.at_s - first.at_s, 3),
            len(self._cores),
            last.load_1min,
            last.runnable,
            share(idle),
            share(total - idle - steal - (last.own_ticks - first.own_ticks)),
            share(steal),
            throttled,
        )


def control_groups(controller: str, sysfs: Path, proc: Path) -> list[Path]:
    """Folders of the process's control group and all above it, for one controller, of either version."""
    places: list[Path] = []
    for line in (_text(proc / "self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = sysfs / "fs/cgroup" / (controller if controllers else "")
        folder = root / path.lstrip("/")
        places += [place for place in (folder, *folder.parents) if place == root or root in place.parents]
    return places


def throttled_s(groups: Collection[Path]) -> float | None:
    """Seconds for which cores were refused to the control groups in all; None where they do not tell."""
    told: list[float] = []
    for place in groups:
        fields = dict(
            line.split(maxsplit=1) for line in (_text(place / "cpu.stat") or "").splitlines() if " " in line
        )
        if "throttled_usec" in fields:  # version 2
            told.append(int(fields["throttled_usec"]) / 1e6)
        elif "throttled_time" in fields:  # version 1, ns
            told.append(int(fields["throttled_time"]) / 1e9)
    return sum(told) if told else None


def _process_ticks(stat: Path) -> int:
    """User and system time of a process with all its threads (proc_pid_stat(5)); 0 when it is gone."""
    _, _, fields = (_text(stat) or "").rpartition(") ")  # the name before may hold anything
    words = fields.split()
    return int(words[11]) + int(words[12]) if len(words) > 12 else 0


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None
