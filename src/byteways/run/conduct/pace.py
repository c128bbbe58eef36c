"""Keeps a run within its time budget, and uses all of it.

The plan rests on estimates. If a run is slower, every remaining case gets proportionally less time to
sample; its record then shows `noisy`. If a run is faster, it first adds the cases that were left out, then
lets noisy cases continue. Lost cases take a time limit each, which no plan has: a run that lost some begins
no other a quarter after the budget that the user gave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from byteways.plan.case import PlannedCase

#: Least fraction of the planned time per case: three initial samples cost that much anyway.
LEAST_CASE_PART = 0.1
#: Greatest fraction: beyond it, noise has other reasons than too few samples.
MOST_PART = 3.0
#: A run that lost cases begins no other after this multiple of its budget.
MOST_OF_BUDGET = 1.25
#: Weight of the estimates in seconds of measuring, so that one slow first case does not decide: the first use
#: of a library between ranks took up to 6 s longer than estimated.
TRUSTED_S = 4.0


class Pace:
    """Time accounting of a run.

    Args:
        plan: Planned and spare cases, with estimates.
        total_s: Wall-time budget of all; None: unlimited.
        given: Whether the user gave the budget: noisy cases then use spare time, and losses may not overrun
            it far. A suite's own is an upper limit of the plan: the run ends early, or measures what is left.
    """

    def __init__(self, plan: Sequence[PlannedCase], total_s: float | None, *, given: bool = True) -> None:
        self._most_part = MOST_PART if given else 1.0
        self._left_s = sum(planned.estimated_s for planned in plan if planned.reason is None)
        self._spare_s = sum(planned.estimated_s for planned in plan if planned.spare)
        self._promised: Counter[str] = Counter()  # remaining rounds of spare cases that were accepted
        self._promised_s = 0.0
        self._total_s = total_s
        self._given = given
        self._estimated_s = 0.0
        self._wall_s = 0.0
        self._lost_s = 0.0

    @property
    def time_left_s(self) -> float:
        """Expected wall time of the plan's remaining cases."""
        return self._left_s * self._slowness

    @property
    def _slowness(self) -> float:
        """Ratio of wall time to estimate so far."""
        return (self._wall_s + TRUSTED_S) / (self._estimated_s + TRUSTED_S)

    def puts_back(self, spare: PlannedCase, elapsed_s: float) -> bool:
        """Whether a spare case is measured after all: in all its rounds, or in none."""
        case = spare.case.case_id
        if self._promised[case]:
            self._promised[case] -= 1
            self._promised_s -= spare.estimated_s
            return True
        if spare.round or not self._has_room(spare, elapsed_s):
            return False
        self._promised[case] = spare.rounds - 1
        self._promised_s += (spare.rounds - 1) * spare.estimated_s
        return True

    def _has_room(self, spare: PlannedCase, elapsed_s: float) -> bool:
        needed_s = (self._promised_s + spare.rounds * spare.estimated_s) * self._slowness
        return self._total_s is not None and elapsed_s + needed_s <= self._total_s

    def budget_s(self, planned: PlannedCase, elapsed_s: float) -> float:
        """Returns the sampling time in seconds for the next case, at `elapsed_s` into the run."""
        if self._total_s is None:
            return planned.budget_s
        left_s = max(0.0, self._total_s - elapsed_s)
        if not planned.spare and left_s < self.time_left_s:
            return planned.budget_s * max(LEAST_CASE_PART, left_s / self.time_left_s)
        # Only time left after everything is measured, assuming no better than the estimates.
        over_s = left_s - (self._left_s + self._spare_s) * max(1.0, self._slowness)
        return min(self._most_part * planned.budget_s, planned.budget_s + max(0.0, over_s))

    def done(self, planned: PlannedCase, given_s: float, wall_s: float) -> None:
        """Records that a case took `wall_s` with a sampling time of `given_s`."""
        self._begun(planned)
        longer_s = max(0.0, given_s - planned.budget_s)
        self._estimated_s += planned.estimated_s * min(1.0, given_s / planned.budget_s)
        self._wall_s += max(wall_s - longer_s, min(wall_s, planned.estimated_s))

    def lost(self, planned: PlannedCase, wall_s: float) -> None:
        """Records that a case was lost after `wall_s`: that says nothing of how fast the others are."""
        self._begun(planned)
        self._lost_s += wall_s

    def over(self, elapsed_s: float) -> str | None:
        """Returns why no other case begins, at `elapsed_s` into the run; None if others do."""
        if self._total_s is None or not self._given or not self._lost_s:
            return None
        if elapsed_s < MOST_OF_BUDGET * self._total_s:
            return None
        lost = f"cases that were lost took {self._lost_s:.0f} s"
        return f"left out to fit the budget of {self._total_s:g} s, which is over: {lost}"

    def _begun(self, planned: PlannedCase) -> None:
        if planned.spare:
            self.left_out(planned)
        else:
            self._left_s = max(0.0, self._left_s - planned.estimated_s)

    def left_out(self, spare: PlannedCase) -> None:
        """Records that a spare case no longer waits for time."""
        self._spare_s = max(0.0, self._spare_s - spare.estimated_s)
