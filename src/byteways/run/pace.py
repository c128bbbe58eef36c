"""Keeps a run within the time it was given, and makes use of all of it.

The plan was made from estimates. A run that is behind them gives every remaining case proportionally less
time to sample; its record says so through `noisy`. A run that is ahead puts back what was left out, and when
there is time for all of that, lets noisy cases go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from byteways.plan.case import PlannedCase

#: A case never gets less than this part of what was planned: its three first samples cost that anyway.
LEAST_PART = 0.1
#: Nor more than this part: what is noisy still has other reasons than want of samples.
MOST_PART = 3.0
#: The estimates are trusted like this many seconds of measuring, so that one slow first case does not decide.
TRUSTED_S = 2.0


class Pace:
    """Time accounting of a run.

    Args:
        plan: What will run and what may, with estimates.
        total_s: Wall time given to all of it, None: as long as it takes.
        lengthen: Whether noisy cases may use up what is left; else the run just ends sooner.
    """

    def __init__(self, plan: Sequence[PlannedCase], total_s: float | None, *, lengthen: bool = True) -> None:
        self._most_part = MOST_PART if lengthen else 1.0
        self._left_s = sum(planned.estimated_s for planned in plan if planned.reason is None)
        self._spare_s = sum(planned.estimated_s for planned in plan if planned.spare)
        self._promised: Counter[str] = Counter()  # rounds still to come of cases that were put back
        self._promised_s = 0.0
        self._total_s = total_s
        self._estimated_s = 0.0
        self._wall_s = 0.0

    @property
    def time_left_s(self) -> float:
        """Wall time that the remaining cases of the plan are expected to take."""
        return self._left_s * self._slowness

    @property
    def _slowness(self) -> float:
        """Wall time over estimate of what was measured so far."""
        return (self._wall_s + TRUSTED_S) / (self._estimated_s + TRUSTED_S)

    def puts_back(self, spare: PlannedCase, elapsed_s: float) -> bool:
        """Whether a case that the plan had left out is measured after all: in all its rounds, or in none."""
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
        """Sampling time for the next case, `elapsed_s` seconds into the run."""
        if self._total_s is None:
            return planned.budget_s
        left_s = max(0.0, self._total_s - elapsed_s)
        if not planned.spare and left_s < self.time_left_s:
            return planned.budget_s * max(LEAST_PART, left_s / self.time_left_s)
        # Only what is over when everything is measured, at no better than the estimates.
        over_s = left_s - (self._left_s + self._spare_s) * max(1.0, self._slowness)
        return min(self._most_part * planned.budget_s, planned.budget_s + max(0.0, over_s))

    def done(self, planned: PlannedCase, given_s: float, wall_s: float) -> None:
        """A case took `wall_s`, having been given `given_s` to sample."""
        if planned.spare:
            self.left_out(planned)
        else:
            self._left_s = max(0.0, self._left_s - planned.estimated_s)
        longer_s = max(0.0, given_s - planned.budget_s)
        self._estimated_s += planned.estimated_s * min(1.0, given_s / planned.budget_s)
        self._wall_s += max(wall_s - longer_s, min(wall_s, planned.estimated_s))

    def left_out(self, spare: PlannedCase) -> None:
        """A case that the plan had left out does not wait for time any more."""
        self._spare_s = max(0.0, self._spare_s - spare.estimated_s)
