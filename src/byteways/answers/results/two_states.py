"""Recognises rounds in two states: a clock, a link width or a page placement that holds for a round.

The median of such rounds is one of the two states, so that it scatters as a single round does. Three rounds
of one case cannot show it, but like cases together can: if the rounds of each are normal, the best division
into two parts leaves more than a small fraction of the squares within the parts (BY_CHANCE of the cases have
less); if most have less, the rounds have two states.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, inf
from statistics import fmean

#: The fraction of the sum of squares that the best division of n normal values leaves within its two parts:
#: its quantile BY_CHANCE, of 200,000 samples by n.
_LEFT_WITHIN = {
    3: 0.0061,
    4: 0.0428,
    5: 0.0804,
    6: 0.1112,
    7: 0.1350,
    8: 0.1527,
    9: 0.1681,
    10: 0.1807,
    11: 0.1913,
    12: 0.2009,
}
BY_CHANCE = 0.15
#: Probability to call normal rounds two states.
LEVEL = 0.025
#: Fewer cases cannot reach that level: they have two states if all that move are divided.
FEW_MOVING = 4
#: Of the widest range of like cases: one below stayed in one state, and shows nothing.
_LEAST_RANGE = 0.2


def have_two_states(cases: Sequence[Sequence[float]]) -> bool:
    """Whether the rounds of like cases fall into two states.

    Args:
        cases: The logarithms of the results of each case, in any order.
    """
    cases = [values for values in cases if len(values) in _LEFT_WITHIN]
    widest = max((max(values) - min(values) for values in cases), default=0.0)
    moving = [values for values in cases if max(values) - min(values) > _LEAST_RANGE * widest]
    divided = sum(_left_within(values) < _LEFT_WITHIN[len(values)] for values in moving)
    if len(moving) < FEW_MOVING:
        return 0 < divided == len(moving)
    return divided > 0 and _at_least(divided, len(moving)) <= LEVEL


def _at_least(count: int, cases: int) -> float:
    """Returns the probability that as many of the cases or more look divided by chance."""
    return sum(
        comb(cases, number) * BY_CHANCE**number * (1 - BY_CHANCE) ** (cases - number)
        for number in range(count, cases + 1)
    )


def _left_within(values: Sequence[float]) -> float:
    """Returns the least fraction of the sum of squares within two parts of the values."""
    ordered = sorted(values)
    whole = _squares(ordered)
    if whole <= 0:
        return inf
    cuts = range(1, len(ordered))
    return min(_squares(ordered[:cut]) + _squares(ordered[cut:]) for cut in cuts) / whole


def _squares(values: Sequence[float]) -> float:
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values)
