"""Pools the cases of two runs: whether they changed together, where none of them can decide it alone.

The logarithms of the changes in speed are combined by a random-effects meta-analysis (R. DerSimonian and
N. Laird, Controlled Clinical Trials 7, 1986), with the interval of G. Knapp and J. Hartung (Statistics in
Medicine 22, 2003), which rests on how the changes scatter over the cases: all cases of the run together, and
those between each kind of devices over each class of links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any

from byteways.answers.claims.claim import Claim, cells_of
from byteways.answers.claims.compare import WIDEST_INTERVAL, least_change
from byteways.answers.claims.effects import LEAST_LEAD
from byteways.answers.results.index import Index
from byteways.answers.results.repeatability import for_many, student
from byteways.answers.results.selection import PAIR_KINDS, kind
from byteways.answers.results.summary import Result, group_by
from byteways.cases.interfaces import metric_of

#: Fewest cases that are pooled.
LEAST_POOLED = 2


@dataclass(frozen=True)
class PooledChange:
    """The change in speed of several cases together. The intervals of all groups hold simultaneously."""

    between: str  # kind of devices; '' for all cases of the run
    link_class: str  # '' without a link
    case_ids: frozenset[str]
    effect: float  # speed relative to the reference; of times the inverse
    low: float
    high: float

    @property
    def slower(self) -> bool:
        return self.high < 1 and self.effect <= 1 - LEAST_LEAD

    @property
    def faster(self) -> bool:
        return self.low > 1 and self.effect >= 1 + LEAST_LEAD

    @property
    def nearest(self) -> float:
        """The end of the interval nearest to no change; 1 within it."""
        return min(max(self.low, 1.0), self.high)

    def to_json(self) -> dict[str, Any]:
        return {
            "between": self.between,
            "link_class": self.link_class,
            "cases": len(self.case_ids),
            "speed": self.effect,
            "speed_interval": [self.low, self.high],
            "least_change": least_change(self),
        }


def pooled_changes(claims: Sequence[Claim], reference: Index) -> tuple[PooledChange, ...]:
    """Pools claims on equal cases of two runs: all of them first, then by kind of devices and link class.

    Args:
        claims: The first side is the judged run's result, the second the reference's.
        reference: The reference, on whose machine links are looked up.
    """
    usable = [claim for claim in claims if claim.pairs and claim.low > 0]

    def place(claim: Claim) -> tuple[str, str]:
        cell = _cell(claim)
        return PAIR_KINDS.get(kind(cell), ""), reference.link_class(cell)

    groups = [(("", ""), usable), *sorted(group_by(usable, place).items(), key=lambda group: group[0])]
    several = [
        (where, some)
        for where, some in groups
        if len(some) >= LEAST_POOLED and (where == ("", "") or len(some) < len(usable))
    ]
    return tuple(
        PooledChange(
            *where,
            frozenset(_cell(claim).record.case_id for claim in some),
            *pooled_speed([_change(claim) for claim in some], len(several)),
        )
        for where, some in several
    )


def _cell(claim: Claim) -> Result:
    return cells_of(claim.sides[0])[0]


def _change(claim: Claim) -> tuple[float, float]:
    """Returns the logarithm of a change in speed, and its variance."""
    by_rate = metric_of(_cell(claim).record.interface) == "bandwidth"
    variance = sum(cell.spread.of_median(cell.rounds) ** 2 for side in claim.sides for cell in cells_of(side))
    return log(claim.effect) * (1 if by_rate else -1), variance


def pooled_speed(changes: Sequence[tuple[float, float]], number: int) -> tuple[float, float, float]:
    """Returns the common speed of cases relative to the reference, with its interval.

    Args:
        changes: Logarithm of the change in speed of each case, and the variance of it.
        number: Of groups for which the intervals hold simultaneously.
    """
    freedom = len(changes) - 1
    middle, weights, scatter = _weighted(changes, 0.0)
    total = sum(weights)
    # What the changes vary by from case to case, beyond what the rounds of each explain
    beyond = max(freedom * (scatter - 1) / (total - sum(one**2 for one in weights) / total), 0.0)
    middle, weights, scatter = _weighted(changes, beyond)
    half = student(for_many(number), freedom) * sqrt(max(scatter, 1.0) / sum(weights))
    half = min(half, WIDEST_INTERVAL)
    return exp(middle), exp(middle - half), exp(middle + half)


def _weighted(changes: Sequence[tuple[float, float]], beyond: float) -> tuple[float, list[float], float]:
    """Returns the weighted mean, the weights, and the scatter about the mean relative to what they expect."""
    weights = [1 / (variance + beyond) for _, variance in changes]
    middle = sum(weight * change for weight, (change, _) in zip(weights, changes, strict=True)) / sum(weights)
    squares = sum(
        weight * (change - middle) ** 2 for weight, (change, _) in zip(weights, changes, strict=True)
    )
    return middle, weights, squares / (len(changes) - 1)
