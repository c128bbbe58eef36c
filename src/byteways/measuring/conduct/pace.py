"""Keeps a run within its time budget, and uses all of it.

The plan rests on estimates. If a run is slower, every remaining case gets proportionally less time to
sample; its record then shows `noisy`. If even that does not fit a budget that the user gave, cases of the
lowest priority are left out, as many as what was measured so far shows to be too many. If a run is faster, it
first adds the cases that were left out, then lets noisy cases continue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from byteways.cases.case import PlannedCase

#: Least fraction of the planned time per case: three initial samples cost that much anyway.
LEAST_CASE_PART = 0.1
#: Greatest fraction: beyond it, noise has other reasons than too few samples.
MOST_PART = 3.0
#: Part of a case's estimate that may be sampling, which alone can be shortened.
MOST_SAMPLING_PART = 0.5
#: Weight of the estimates in seconds of measuring, so that one slow first case does not decide: the first use
#: of a library between ranks took up to 6 s longer than estimated.
TRUSTED_S = 4.0


@dataclass
class _Waiting:
    """The rounds of a case that have not begun."""

    priority: int
    place: int  # in the plan
    least_s: float = 0.0  # of all these rounds, sampled as little as possible
    begun: bool = False  # whether an earlier round was measured

    @property
    def rank(self) -> tuple[int, bool, int]:
        """What is left out first has the lowest one. A case of one round cannot be compared."""
        return self.priority, self.begun, -self.place


def shortened_s(planned: PlannedCase, part: float) -> float:
    """Returns the estimate of a case that gets this part of its sampling time, at most all."""
    sampling_s = min(planned.budget_s, MOST_SAMPLING_PART * planned.estimated_s)
    return planned.estimated_s - (1.0 - min(1.0, part)) * sampling_s


class Pace:
    """Time accounting of a run.

    Args:
        plan: Planned and spare cases, with estimates.
        total_s: Wall-time budget of all; None: unlimited.
        given: Whether the user gave the budget: noisy cases then use spare time, and cases that do not fit
            are left out. A suite's own is an upper limit of the plan: the run ends early, or measures what is
            left.
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
        self._any_begun = False
        self._left_out: set[str] = set()  # cases of which no further round begins
        self._waiting: dict[str, _Waiting] = {}
        for place, planned in enumerate(plan):
            if planned.reason is None:
                entry = _Waiting(planned.priority, place, begun=planned.round > 0)
                self._waiting.setdefault(planned.case.case_id, entry).least_s += shortened_s(
                    planned, LEAST_CASE_PART
                )

    @property
    def time_left_s(self) -> float:
        """Expected wall time of the plan's remaining cases."""
        return self._left_s * self.slowness

    @property
    def slowness(self) -> float:
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
        needed_s = (self._promised_s + spare.rounds * spare.estimated_s) * self.slowness
        return self._total_s is not None and elapsed_s + needed_s <= self._total_s

    def budget_s(self, planned: PlannedCase, elapsed_s: float) -> float:
        """Returns the sampling time in seconds for the next case, at `elapsed_s` into the run."""
        if self._total_s is None:
            return planned.budget_s
        left_s = max(0.0, self._total_s - elapsed_s)
        if not planned.spare and left_s < self.time_left_s:
            return planned.budget_s * max(LEAST_CASE_PART, left_s / self.time_left_s)
        # Only time left after everything is measured, assuming no better than the estimates.
        over_s = left_s - (self._left_s + self._spare_s) * max(1.0, self.slowness)
        return min(self._most_part * planned.budget_s, planned.budget_s + max(0.0, over_s))

    def done(self, planned: PlannedCase, given_s: float, wall_s: float) -> None:
        """Records that a case took `wall_s` with a sampling time of `given_s`."""
        self._begun(planned)
        longer_s = max(0.0, given_s - planned.budget_s)
        self._estimated_s += shortened_s(planned, given_s / planned.budget_s)
        self._wall_s += max(wall_s - longer_s, min(wall_s, planned.estimated_s))

    def lost(self, planned: PlannedCase, wall_s: float) -> None:
        """Records that a case was lost after `wall_s`: that says nothing of how fast the others are."""
        self._begun(planned)
        self._lost_s += wall_s

    def over(self, planned: PlannedCase, elapsed_s: float) -> str | None:
        """Returns why a case does not begin, at `elapsed_s` into the run; None if it does.

        What is left of the budget goes to the cases of highest priority. Something is measured in any case.
        """
        if self._total_s is None or not self._given or not self._any_begun:
            return None
        case = planned.case.case_id
        if case not in self._left_out and not self._has_place(case, elapsed_s):
            self._left_out.add(case)
        return self._why_left_out() if case in self._left_out else None

    def _has_place(self, case: str, elapsed_s: float) -> bool:
        """Whether the time left holds a case, or would if those that are left out first were."""
        assert self._total_s is not None
        left_s = self._total_s - elapsed_s
        own = self._waiting.get(case)
        if own is None:  # it was left out by the plan and put back
            return left_s > 0
        before_s = sum(one.least_s for one in self._waiting.values() if one.rank >= own.rank)
        return before_s * self.slowness <= left_s

    def _why_left_out(self) -> str:
        if self._lost_s:
            return f"left out to fit the budget: cases that were lost took {self._lost_s:.0f} s"
        return f"left out to fit the budget: what was measured took {self.slowness:.1f} times its estimate"

    def left_out(self, planned: PlannedCase) -> None:
        """Records that a round of a case waits no longer."""
        if planned.spare:
            self._spare_s = max(0.0, self._spare_s - planned.estimated_s)
            return
        self._left_s = max(0.0, self._left_s - planned.estimated_s)
        self._waiting[planned.case.case_id].least_s -= shortened_s(planned, LEAST_CASE_PART)

    def _begun(self, planned: PlannedCase) -> None:
        self._any_begun = True
        self.left_out(planned)
        if not planned.spare:
            self._waiting[planned.case.case_id].begun = True
