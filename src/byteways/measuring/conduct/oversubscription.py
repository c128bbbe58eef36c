"""Ranks that share cores: MPI polls, so that each message waits until the scheduler lets its rank run.

Without a core of its own a rank takes time slices of milliseconds for every step of a collective. Such a
case may take minutes where others take microseconds: that says nothing against the devices, but larger sizes
of the same operation would take no less.
"""

from __future__ import annotations

from byteways.base.units import format_size
from byteways.cases.case import Case
from byteways.measuring.shared.launchers import NO_LAUNCHER, Job


class Oversubscription:
    """What the conductor knows of ranks that share cores.

    Args:
        job: The ranks of the run; None: it has none.
        cores: Cores that this process may use.
    """

    def __init__(self, job: Job | None, cores: int) -> None:
        launched = job is not None and job.launcher is not NO_LAUNCHER
        self._ranks = job.ranks if job is not None and launched else 0
        self._cores = max(1, cores)
        self._late: dict[tuple[str, str], tuple[int, str]] = {}  # smallest size without an answer, and why

    def factor(self, case: Case) -> float:
        """Returns how much longer a case may take: ranks per core, at least 1."""
        return max(1.0, len(case.ranks) / self._cores) if self._shares(case) else 1.0

    def is_late(self, case: Case, status: str, brief: str) -> bool:
        """Whether the loss of a case is for want of cores, and notes it; `brief`: what happened."""
        if status != "timeout" or not self._shares(case):
            return False
        key = case.interface, case.pattern
        if key not in self._late or case.size_bytes < self._late[key][0]:
            self._late[key] = case.size_bytes, brief
        return True

    def reason(self, case: Case) -> str:
        """Returns why a case is skipped after a smaller one or its own earlier round; empty if it is not."""
        size, brief = self._late.get((case.interface, case.pattern), (0, ""))
        if not brief or case.size_bytes < size or not self._shares(case):
            return ""
        cores = "a core" if self._cores == 1 else f"{self._cores} cores"
        what = f"{case.pattern} of {format_size(size)}"
        return f"{len(case.ranks)} ranks share {cores}, and {what} had {brief}"

    def _shares(self, case: Case) -> bool:
        return case.worker == "ranks" and self._ranks > self._cores
