"""The ratio of two results with its interval: of one path, and of all paths of a class together.

A path has two intervals, each at half the level: one from the spread of both results, which like cases share
(repeatability.py), and one from the ratios of the rounds that measured both, in which a disturbance of a
round cancels. The narrower one holds at the level (Bonferroni).

Over several paths, the ratios of all rounds and paths are a two-way layout without interaction (H. Scheffé,
The Analysis of Variance, 1959, chapter 4): paths may differ, and the remainder is noise. If rounds shift all
paths alike, there are only as many independent observations as rounds; shifts that the noise explains are
noise (tests of significance before pooling: T. A. Bancroft, Ann. Math. Stat. 15, 1944).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import fmean, median

from byteways.answers.results.repeatability import (
    LEAST_ROUNDS,
    f_exceeded,
    median_variance,
    student,
)
from byteways.answers.results.summary import Result

#: Least relative difference for a lead, however certain a smaller one is.
LEAST_LEAD = 0.01
#: Shifts of whole rounds as large as these come by chance in a twentieth of the runs: they count as noise.
_POOLED_ABOVE = 0.05
#: Least rounds for an interval of a single path from its ratios alone. Three may be equal by chance, as those
#: in one of two states often are, and would show a difference where there is none.
_LEAST_PAIRED = 5
#: For ratios equal to the last digit.
_LEAST_VARIANCE = 1e-14


@dataclass(frozen=True)
class Effect:
    """The ratio of one result to another, with its interval."""

    ratio: float
    low: float
    high: float

    @property
    def leads(self) -> bool:
        return self.low > 1 and self.ratio >= 1 + LEAST_LEAD

    @property
    def trails(self) -> bool:
        return self.high < 1 and self.ratio * (1 + LEAST_LEAD) <= 1

    @property
    def width(self) -> float:
        """Factor from the lower to the upper end; infinite if nothing is known."""
        return self.high / self.low if self.low > 0 else inf

    @classmethod
    def around(cls, ratio: float, half: float) -> Effect:
        """Returns the effect of a logarithm `ratio` and half the width of its interval."""
        return cls(exp(ratio), exp(ratio - half), exp(ratio + half))


#: Of results that are not positive: nothing is known.
UNKNOWN_RATIO = Effect(1.0, 0.0, 2.0)


def path_effect(first: Result, second: Result, level: float) -> Effect:
    """Returns the ratio of two results; its interval misses with probability `level`."""
    if first.value <= 0 or second.value <= 0:
        return UNKNOWN_RATIO
    ratio = log(first.value / second.value)
    rounds = common_rounds(first, second)
    paired = len(rounds) >= _LEAST_PAIRED and not (first.spread.two_states or second.spread.two_states)
    deviation, freedom = deviation_of_ratio(first, second)
    by_spread = Effect.around(ratio, student(level / 2 if paired else level, freedom) * deviation)
    if not paired:
        return by_spread
    by_round = _together([_ratios(first, second, rounds)], ratio, level / 2)
    return min(by_spread, by_round, key=lambda effect: effect.width)


def pooled_effect(pairs: Sequence[tuple[Result, Result]], level: float) -> Effect | None:
    """Returns the ratio over all paths; None if no rounds measured all of them, or results recur."""
    cells = [id(cell) for pair in pairs for cell in pair]
    if len(pairs) < 2 or len(set(cells)) < len(cells):
        return None
    if any(cell.value <= 0 for pair in pairs for cell in pair):
        return None
    rounds = common_rounds(*(cell for pair in pairs for cell in pair))
    if len(rounds) < LEAST_ROUNDS:
        return None
    ratios = [_ratios(first, second, rounds) for first, second in pairs]
    return _together(ratios, log(median(first.value / second.value for first, second in pairs)), level)


def common_rounds(*cells: Result) -> list[int]:
    """Returns the rounds in which all of these were measured, in order."""
    return sorted(set.intersection(*(set(cell.by_round) for cell in cells)))


def deviation_of_ratio(first: Result, second: Result) -> tuple[float, float]:
    """Returns the standard deviation of the logarithm of the ratio, and its degrees of freedom.

    Two estimates from like cases are not independent. Taken as fully dependent, their standard errors are
    added: equal ones count once, and one that hardly contributes lends none of its uncertainty.
    """
    parts = [(cell.spread.of_median(cell.rounds) ** 2, cell.spread.freedom) for cell in (first, second)]
    total = sum(square for square, _ in parts)
    if first.spread.shared and second.spread.shared:
        return sqrt(total), total**2 / sum(square / sqrt(degrees) for square, degrees in parts) ** 2
    # Welch and Satterthwaite
    return sqrt(total), total**2 / sum(square**2 / degrees for square, degrees in parts)


def _ratios(first: Result, second: Result, rounds: Sequence[int]) -> list[float]:
    """Returns the logarithm of the ratio in each round."""
    return [log(first.by_round[number] / second.by_round[number]) for number in rounds]


def _together(ratios: Sequence[Sequence[float]], shown: float, level: float) -> Effect:
    """Returns the median over paths, with the interval that the ratios by path and round support.

    Args:
        ratios: By path, then by round.
        shown: The logarithm of the ratio of the medians, which is printed; the interval includes it.
        level: Probability that the interval misses the ratio.
    """
    means = [fmean(path) for path in ratios]
    variance, freedom = _variance_of_mean(ratios, means)
    middle = median(means)
    half = student(level, freedom) * sqrt(max(variance, _LEAST_VARIANCE))
    return Effect(exp(shown), exp(min(middle - half, shown)), exp(max(middle + half, shown)))


def _variance_of_mean(ratios: Sequence[Sequence[float]], means: Sequence[float]) -> tuple[float, float]:
    """Returns the variance of the median over paths of the means over rounds, and its degrees of freedom."""
    paths, rounds = len(ratios), len(ratios[0])
    left = [[value - mean for value in path] for path, mean in zip(ratios, means, strict=True)]
    noise = sum(value**2 for path in left for value in path)
    over_paths = median_variance(paths)
    if paths == 1:
        return noise / (rounds - 1) / rounds, rounds - 1
    shifts = [fmean(column) for column in zip(*left, strict=True)]
    by_round = paths * sum(shift**2 for shift in shifts) / (rounds - 1)
    rest = max(noise - by_round * (rounds - 1), 0.0) / ((paths - 1) * (rounds - 1))
    exceeds = f_exceeded(by_round / rest, rounds - 1, (paths - 1) * (rounds - 1)) if rest else 0.0
    if exceeds >= _POOLED_ABOVE:
        return over_paths * noise / (paths * (rounds - 1)) / rounds, paths * (rounds - 1)
    shared = max(by_round - rest, 0.0) / paths
    return (shared + over_paths * rest) / rounds, rounds - 1
