"""Variation of a result between rounds: its standard deviation, estimated jointly with like cases.

Three rounds say little about a case's variance, so every comparison would be a tie. Variances of like cases
are therefore combined by empirical Bayes (G. K. Smyth, Statistical Applications in Genetics and Molecular
Biology 3(1), 2004, sections 4 to 6): if they scatter no more than their degrees of freedom explain, all
share one variance; the more heterogeneous they are, the more each keeps its own.

All deviations are relative: computed on logarithms.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import exp, inf, isinf, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist, fmean, median

from byteways.answers.results.two_states import have_two_states

#: Least number of rounds for a result to be ranked.
LEAST_ROUNDS = 3
#: Least degrees of freedom of a group of like cases; a smaller group joins the next wider one.
LEAST_GROUP_FREEDOM = 6
#: Degrees of freedom from which on a group shows by how much samples exceed the scatter of its rounds.
LEAST_WITHIN_FREEDOM = 12
#: Of so many rounds, each in one of two states at random, all are in one of them in 6 % of cases.
ONE_STATE_ROUNDS = 5
#: Confidence of every interval.
CONFIDENCE = 0.95
#: Simultaneous confidence of a ranking's comparisons. Pooled variances of similar but unequal cases made
#: 0.95 call 4 to 5 % of equal pairs different (validation/coverage.py), without margin to the promised 5 %.
JOINT_CONFIDENCE = 0.96
#: Variance of the median of n normal values of variance 1 (H. A. David, Order Statistics, 1981, table 2.5).
_MEDIAN_VARIANCE = {1: 1.0, 2: 0.5, 3: 0.4487, 4: 0.2982, 5: 0.2868, 6: 0.2147, 7: 0.2104, 8: 0.1682}
#: … and for large n, pi / 2 / n.
_MANY = 1.5708
#: A variance below this fraction of its group's median is a coincidence of few rounds.
_LEAST_VARIANCE = 1e-5
#: Above these degrees of freedom Student's t equals the normal distribution.
_NORMAL = 1e6
#: From these degrees of freedom on, and down to this level, two corrections bring the normal quantile within
#: 2 % of Student's.
_MODERATE, _LEAST_LEVEL = 20.0, 1e-7
#: For rounds equal to the last digit: below any timer's resolution.
_LEAST_DEVIATION = 1e-7


def median_variance(count: int) -> float:
    """Returns the variance of the median of so many normal values of variance 1."""
    return _MEDIAN_VARIANCE.get(count, _MANY / count)


@dataclass(frozen=True)
class Spread:
    """Relative standard deviation of one round's result, and its degrees of freedom."""

    deviation: float
    freedom: float
    shared: bool = False  # pooled with like cases: two such estimates are not independent
    two_states: bool = False  # a round is in one of two states, and so is the median of any number

    def of_median(self, rounds: int) -> float:
        """Returns the standard deviation of the median over rounds."""
        return self.deviation * sqrt(1.0 if self.two_states else median_variance(rounds))

    def interval(self, value: float, rounds: int) -> tuple[float, float]:
        """Returns the range of another run's result with as many rounds, with 95 % confidence.

        Two medians differ by sqrt(2) times the deviation of one.
        """
        half = student(1 - CONFIDENCE, self.freedom) * sqrt(2) * self.of_median(rounds)
        return value * exp(-half), value * exp(half)


@dataclass(frozen=True)
class Rounds:
    """Results of one case, one per round.

    `groups` are keys of like cases, narrowest first. `within` is the relative standard error of one round
    from its own samples, a lower bound for the spread over rounds.
    """

    values: tuple[float, ...]
    within: float
    groups: tuple[Hashable, ...]

    @property
    def freedom(self) -> int:
        return len(self.values) - 1

    @cached_property
    def variance(self) -> float:
        return _variance(self.logarithms) if self.freedom else 0.0

    @cached_property
    def logarithms(self) -> list[float]:
        return [log(value) for value in self.values]


def _variance(values: Sequence[float]) -> float:
    """Variance; the statistics module's is exact but ten times slower."""
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - 1)


def spreads(cases: Sequence[Rounds]) -> list[Spread]:
    """Returns the spread of each case, in the given order."""
    shared: dict[Hashable, list[Rounds]] = {}
    for case in cases:
        for key in case.groups if case.freedom else ():
            shared.setdefault(key, []).append(case)
    enough = {key: _prior(some) for key, some in shared.items() if _freedom(some) >= LEAST_GROUP_FREEDOM}
    return [_spread(case, enough) for case in cases]


def _freedom(cases: Sequence[Rounds]) -> int:
    return sum(case.freedom for case in cases)


@dataclass(frozen=True)
class _Prior:
    """The prior distribution of a variance from like cases."""

    variance: float
    freedom: float
    total: int  # degrees of freedom of all cases
    two_states: bool = False
    within: float = 1.0  # factor on the errors within rounds, which exceed what the rounds scatter


def _prior(cases: Sequence[Rounds]) -> _Prior:
    total = _freedom(cases)
    least = max(_LEAST_VARIANCE * median(case.variance for case in cases), _LEAST_DEVIATION**2)
    variances = [max(case.variance, least) for case in cases]
    freedoms = [case.freedom for case in cases]
    logs = [log(one) - _digamma(d / 2) + log(d / 2) for one, d in zip(variances, freedoms, strict=True)]
    scatter = (_variance(logs) if len(logs) > 1 else 0.0) - fmean(_trigamma(d / 2) for d in freedoms)
    within = _part_of_within(cases, total)
    divided = have_two_states([case.logarithms for case in cases])
    # A case that stayed in one of two states has no variance by chance alone.
    if scatter <= 0 or divided:  # explained by chance: one common variance
        pooled = sum(one * d for one, d in zip(variances, freedoms, strict=True)) / total
        return _Prior(pooled, inf, total, divided, within)
    freedom = 2 * _inverse_trigamma(scatter)
    variance = exp(fmean(logs) + _digamma(freedom / 2) - log(freedom / 2))
    return _Prior(variance, freedom, total, False, within)


def _part_of_within(cases: Sequence[Rounds], total: int) -> float:
    """Returns by how much the errors from samples within rounds exceed the scatter of like cases' rounds.

    They are intervals of order statistics, widened for dependent samples: a factor of 1.0 and less, with one
    standard error of the scatter as a margin.
    """
    if total < LEAST_WITHIN_FREEDOM:
        return 1.0
    between = sum(case.freedom * case.variance for case in cases)
    within = sum(case.freedom * case.within**2 for case in cases)
    return min(1.0, sqrt(between / within * (1 + sqrt(2 / total)))) if within else 1.0


def _spread(case: Rounds, known: Mapping[Hashable, _Prior]) -> Spread:
    prior = next((known[key] for key in case.groups if key in known), None)
    if prior is None or not case.freedom:
        between, freedom = case.variance, float(max(case.freedom, 1))
    elif isinf(prior.freedom):
        between, freedom = prior.variance, float(prior.total)
    else:
        between = (prior.freedom * prior.variance + case.freedom * case.variance) / (
            prior.freedom + case.freedom
        )
        freedom = min(prior.freedom + case.freedom, float(prior.total))
    two_states = prior is not None and prior.two_states
    if prior is not None and two_states and _stayed(case, prior):
        between, freedom, two_states = case.variance, float(case.freedom), False
    within = case.within * (prior.within if prior else 1.0)
    deviation = max(sqrt(between), within, _LEAST_DEVIATION)
    return Spread(deviation, freedom, prior is not None, two_states)


def _stayed(case: Rounds, prior: _Prior) -> bool:
    """Whether a case stayed in one state, in enough rounds that chance hardly explains it.

    One of n rounds in another state has at least a deviation of the distance of the states over sqrt(n); the
    pooled deviation of like cases is at most half of that distance.
    """
    return len(case.values) >= ONE_STATE_ROUNDS and case.variance * len(case.values) < prior.variance


def for_many(comparisons: int) -> float:
    """Returns the level per comparison for a simultaneous level over all (Šidák 1967)."""
    return float(1 - JOINT_CONFIDENCE ** (1 / max(comparisons, 1)))


@lru_cache(maxsize=1 << 16)
def student(level: float, freedom: float) -> float:
    """Returns the two-sided quantile of Student's t: |t| exceeds it with probability `level`."""
    freedom = min(freedom, _NORMAL)
    t = _near(level, freedom)
    # Newton's method: the tail is decreasing and convex, so steps from the left never overshoot, and one from
    # the right, where `_near` may be by a little, leads to the left.
    scale = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * pi) / 2
    for _ in range(60):
        density = exp(scale - (freedom + 1) / 2 * log1p(t * t / freedom))
        step = (exceeded(t, freedom) - level) / (2 * density)
        t += step
        if abs(step) < 1e-7 * t:  # the error after a step is about its square
            break
    return t


def _near(level: float, freedom: float) -> float:
    """Returns a value near Student's quantile, or to the left of it if there are few degrees of freedom.

    It is the normal quantile with its first two corrections (Abramowitz and Stegun, 26.7.5).
    """
    if freedom >= _MODERATE and level >= _LEAST_LEVEL:
        z = NormalDist().inv_cdf(1 - level / 2)
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    t = 0.5
    while exceeded(2 * t, freedom) > level:
        t *= 2
    return t


def exceeded(t: float, freedom: float) -> float:
    """Returns the probability that |t| is exceeded, of Student's distribution."""
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def f_exceeded(ratio: float, above: float, below: float) -> float:
    """Returns the probability that a ratio of two variances is exceeded, of Fisher's distribution.

    Args:
        ratio: Of the variances.
        above: Degrees of freedom of the numerator.
        below: Of the denominator.
    """
    return _incomplete_beta(below / 2, above / 2, below / (below + above * ratio))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function by continued fraction (Abramowitz and Stegun, 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    # Evaluated forward by Lentz's method.
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            value *= c * d
        if abs(value / before - 1) < 1e-14:
            break
    return front * value


@lru_cache(maxsize=4096)  # half the degrees of freedom: few different values, for thousands of cases
def _digamma(x: float) -> float:
    """Digamma function: Abramowitz and Stegun, 6.3.5 and 6.3.18."""
    shift = 0.0
    while x < 8:
        shift -= 1 / x
        x += 1
    square = 1 / (x * x)
    return shift + log(x) - 1 / (2 * x) - square * (1 / 12 - square * (1 / 120 - square / 252))


@lru_cache(maxsize=4096)
def _trigamma(x: float) -> float:
    """Trigamma function: Abramowitz and Stegun, 6.4.6 and 6.4.12."""
    shift = 0.0
    while x < 8:
        shift += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    return shift + 1 / x + square / 2 + square / x * (1 / 6 - square * (1 / 30 - square / 42))


def _inverse_trigamma(y: float) -> float:
    """Inverts trigamma by bisection: it decreases from infinity to 0."""
    low, high = 1e-4, 1e8
    while low < (middle := sqrt(low * high)) < high:  # until no number lies between
        low, high = (middle, high) if _trigamma(middle) > y else (low, middle)
    return sqrt(low * high)
