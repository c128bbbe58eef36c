"""Further rounds of cases whose comparisons a run has not decided.

The rounds of the suite measure every case. Then only those are repeated that open comparisons need, round by
round, until nothing is open, a case has MOST_ROUNDS, or the time for it is over. If the time does not hold a
round of all, the comparisons that the caller names first have it. So time goes where it decides, and a quiet
machine ends after the rounds of the suite. Which comparisons are open is for the caller to say: the
conductor measures and does not compare.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from byteways.cases.case import PlannedCase
from byteways.measuring.shared.options import RunOptions
from byteways.plan.suite_types import LEAST_RANKED, MOST_ROUNDS

#: Time for further rounds without a budget from the user: a part of the plan's estimate, and seconds.
FURTHER_PART, LEAST_FURTHER_S = 0.25, 2.0

#: Where they use up a budget their estimates are corrected down to this factor.
LEAST_SLOWNESS = 0.25

#: A larger run has no further rounds: to find its open comparisons takes seconds each time.
MOST_MEASUREMENTS = 20_000

#: Returns the identifiers of the cases that each open comparison of a run folder needs, the first one first.
OpenCases = Callable[[Path], Sequence[Collection[str]]]


@dataclass(frozen=True)
class Settling:
    """Further rounds of one run.

    Its time is counted by the plan's estimates, so that a simulated run does not depend on this machine. A
    machine slower than those has less of it.
    """

    folder: Path
    planned: Sequence[PlannedCase]
    left_s: float

    def rounds(self, open_cases: OpenCases) -> Iterator[list[PlannedCase]]:
        """Yields the cases of each further round; each is measured before the next is asked for."""
        running = [one for one in self.planned if one.reason is None]
        first = {one.case.case_id: one for one in running if one.round == 0}
        # The first round also has the starts of processes and the first allocations.
        least_s: dict[str, float] = {}
        for one in running:
            name = one.case.case_id
            least_s[name] = min(least_s.get(name, one.estimated_s), one.estimated_s)
        number = 1 + max((one.round for one in self.planned), default=0)
        left_s = self.left_s
        while LEAST_RANKED <= number < MOST_ROUNDS:
            wanted = _within(open_cases(self.folder), least_s, left_s)
            cases = [
                replace(one, round=number, estimated_s=least_s[name])
                for name, one in first.items()
                if name in wanted
            ]
            left_s -= sum(one.estimated_s for one in cases)
            if not cases:
                return
            # Neighbours change places, so that a slow drift favours neither side.
            yield cases[:: -1 if number % 2 else 1]
            number += 1


def _within(
    comparisons: Sequence[Collection[str]], estimated_s: Mapping[str, float], left_s: float
) -> set[str]:
    """Returns the cases of the comparisons that the time holds, the first ones first."""
    wanted: set[str] = set()
    for cases in comparisons:
        further = {name for name in cases if name in estimated_s} - wanted
        left_s -= sum(estimated_s[name] for name in further)
        if left_s < 0:
            break
        wanted |= further
    return wanted


def settling(
    folder: Path,
    planned: Sequence[PlannedCase],
    options: RunOptions,
    budget_s: float | None,
    spent_s: float,
    slowness: float = 1.0,
    *,
    to_budget: bool = False,
) -> Settling | None:
    """Returns the further rounds of a run; None if the user chose the rounds or the duration, or the
    run is large.

    Args:
        folder: The run folder.
        planned: The whole plan.
        options: Those of the run.
        budget_s: The seconds of the run, from the user or the suite; None: unlimited.
        spent_s: Of which these are over.
        slowness: How much longer than estimated cases took: the time for further rounds is wall time.
        to_budget: Whether they may use up a suite's own budget; the user's is used up in any case.
    """
    if options.rounds is not None or options.for_s is not None or len(planned) > MOST_MEASUREMENTS:
        return None
    estimated_s = sum(one.estimated_s for one in planned if one.reason is None)
    extra_s = max(LEAST_FURTHER_S, FURTHER_PART * estimated_s)
    given = to_budget or options.budget_s is not None
    if budget_s is not None:
        # A simulated run spends no time of its own.
        rest_s = budget_s - (spent_s if given and spent_s else max(spent_s, estimated_s))
        extra_s = rest_s if given else min(extra_s, rest_s)
    return Settling(folder, planned, extra_s / max(LEAST_SLOWNESS if given else 1.0, slowness))
