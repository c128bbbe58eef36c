"""Host load around a case: CPU time taken by other processes, the hypervisor and control group limits.

Real machines only: a simulated result must not depend on the host's load.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byteways.record import warnings
from byteways.record.warnings import BUSY_SHARE, STEAL_SHARE, Warning

#: Kernel CPU times have a resolution of 10 ms, 1 % of two cores over half a second. Shorter cases are judged
#: together with the preceding time; nothing is judged over less.
JUDGED_WINDOW_S = 0.5
#: A case that begins so soon after the last one begins with the reading after that: a reading takes up to a
#: millisecond on hosts with many cores.
FOLLOWS_S = 0.05


@dataclass(frozen=True)
class HostReading:
    """Counters of the cores that this process may use; None if the kernel does not provide a value."""

    at_s: float
    load_1min: float | None  # runnable or waiting tasks, averaged over the last minute
    runnable: int | None  # tasks currently running or waiting for a core
    total_ticks: int
    idle_ticks: int
    steal_ticks: int  # time taken by the hypervisor
    own_ticks: int  # of this process and its conductor
    throttled_s: float | None  # throttled by the control group's quota


@dataclass(frozen=True)
class HostLoad:
    """Load between two readings, as shares of the total time of the usable cores; None: unknown."""

    window_s: float
    cores: int
    load_1min: float | None
    runnable: int | None
    idle: float | None
    others: float | None
    steal: float | None
    throttled_s: float | None

    def to_json(self) -> dict[str, Any]:
        """Returns the field `health.host` of a record."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def warnings(self) -> list[Warning]:
        """Returns warnings; none for intervals shorter than LEAST_WINDOW_S."""
        if self.window_s < JUDGED_WINDOW_S:
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
    """Reads the host load before and after each case.

    Args:
        root: Root of the file system with /proc and /sys.
        cores: Cores that this process may use; None: as the kernel reports.
        clock: Monotonic seconds.
        processes: Ids of the measuring processes, whose load is excluded; default: this one and its parent.
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
        """Call before a case."""
        if self._clock() - self._readings[-1].at_s > FOLLOWS_S:
            self._readings.append(self.read())

    def end(self) -> HostLoad:
        """Call after a case; returns the load over it and, if it was short, over enough time before it."""
        last = self.read()
        while len(self._readings) > 1 and last.at_s - self._readings[1].at_s >= JUDGED_WINDOW_S:
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
        """Returns (all, idle, stolen) ticks of the usable cores (proc_stat(5))."""
        total = idle = steal = 0
        for line in (_text(self._proc / "stat") or "").splitlines():
            name, *fields = line.split()
            if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in self._cores:
                ticks = [int(field) for field in fields[:8]]  # user time includes guest time
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
    """Returns the folders of the process's control group and its ancestors for a controller (v1 and v2)."""
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
    """Returns the seconds for which the control groups were throttled in total; None if unknown."""
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
    """Returns user plus system ticks of a process with all threads (proc_pid_stat(5)); 0 if it is gone."""
    _, _, fields = (_text(stat) or "").rpartition(") ")  # the name before it may contain any character
    words = fields.split()
    return int(words[11]) + int(words[12]) if len(words) > 12 else 0


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None
