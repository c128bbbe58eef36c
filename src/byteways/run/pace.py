"""Keeps a run within the time it was given: what a case may still take, and how long the rest will.

The plan shares the budget out before anything is known about allocation, verification and start-up. While the
run is behind, every remaining case gets proportionally less time to sample; its record says so through
`noisy`.
"""

from __future__ import annotations

from collections.abc import Iterable

#: A case never gets less than this part of what was planned: its three first samples cost that anyway.
LEAST_PART = 0.1
#: Wall time over planned budget, before anything was measured: allocation and verification cost about half
#: again.
FIRST_GUESS = 1.5


class Pace:
    """Time accounting of a run.

    Args:
        budgets_s: Planned budget of every case that will run.
        total_s: Wall time given to all of it, None: as long as it takes.
    """

    def __init__(self, budgets_s: Iterable[float], total_s: float | None) -> None:
        self._left_s = sum(budgets_s)
        self._total_s = total_s
        self._planned_s = 0.0
        self._wall_s = 0.0

    @property
    def time_left_s(self) -> float:
        """Wall time that the remaining cases are expected to take, without shortening."""
        return self._left_s * self._ratio

    @property
    def _ratio(self) -> float:
        # The guess weighs as much as two seconds of measuring, so that one slow first case does not decide.
        return (self._wall_s + 2.0 * FIRST_GUESS) / (self._planned_s + 2.0)

    def budget_s(self, planned_s: float, elapsed_s: float) -> float:
        """Sampling time for the next case, `elapsed_s` seconds into the run."""
        if self._total_s is None or self._left_s <= 0:
            return planned_s
        part = (self._total_s - elapsed_s) / self.time_left_s
        return planned_s * min(1.0, max(LEAST_PART, part))

    def done(self, planned_s: float, given_s: float, wall_s: float) -> None:
        """A case with budget `planned_s`, of which `given_s` were given, took `wall_s`."""
        self._left_s = max(0.0, self._left_s - planned_s)
        self._planned_s += given_s
        self._wall_s += wall_s
