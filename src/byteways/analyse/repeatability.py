"""How far a result moves from round to round: its standard deviation, borrowed from like cases of the run.

Three rounds of one case say little about its own variance, so that every comparison would end in a tie. The
variances of like cases are therefore combined by empirical Bayes (G. K. Smyth, Statistical Applications in
Genetics and Molecular Biology 3(1), 2004, sections 4 to 6): where they scatter no more than their degrees of
freedom explain, all share one variance; the more heterogeneous they are, the more each keeps its own.

Everything is relative: the logarithm of a result is what varies.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import exp, inf, isinf, lgamma, log, log1p, pi, sqrt
from statistics import fmean, median

#: Rounds from which on a result can be ranked.
LEAST_ROUNDS = 3
#: Degrees of freedom that a group of like cases must have together; a smaller one joins the next wider group.
LEAST_FREEDOM = 20
#: Confidence of every interval.
CONFIDENCE = 0.95
#: Confidence of all comparisons of a ranking together. A shared variance is an estimate for cases that are
#: alike but not equal, so at 0.95 two equal ways were called different in 4 to 5 % of rankings
#: (benchmarks/coverage.py): no margin below the 5 % that are promised.
JOINT_CONFIDENCE = 0.96
#: Variance of the median of n normal values of variance 1 (H. A. David, Order Statistics, 1981, table 2.5).
_MEDIAN_VARIANCE = {1: 1.0, 2: 0.5, 3: 0.4487, 4: 0.2982, 5: 0.2868, 6: 0.2147, 7: 0.2104, 8: 0.1682}
#: … and for many of them, pi / 2 / n.
_MANY = 1.5708
#: A variance below this part of the median of its group is an accident of few rounds.
_LEAST_VARIANCE = 1e-5
#: Degrees of freedom from which on Student's t is the normal distribution.
_NORMAL = 1e6
#: Of rounds that are equal to the last digit: below what any timer resolves.
_LEAST_DEVIATION = 1e-7


@dataclass(frozen=True)
class Spread:
    """Relative standard deviation of one round's result, and the degrees of freedom behind it."""

    deviation: float
    freedom: float
    shared: bool = False  # with like cases: two of them are no independent estimates

    def of_median(self, rounds: int) -> float:
        """Standard deviation of the median over rounds."""
        return self.deviation * sqrt(_MEDIAN_VARIANCE.get(rounds, _MANY / rounds))

    def interval(self, value: float, rounds: int) -> tuple[float, float]:
        """Where another run of as many rounds would put this value, with 95 % confidence.

        Two medians differ by sqrt(2) times the deviation of one.
        """
        half = student(1 - CONFIDENCE, self.freedom) * sqrt(2) * self.of_median(rounds)
        return value * exp(-half), value * exp(half)


@dataclass(frozen=True)
class Rounds:
    """Results of one case, a round each.

    `groups` are the keys of like cases, the narrowest first. `within` is the relative standard error of one
    round by its own samples, below which no spread over rounds is believed.
    """

    values: tuple[float, ...]
    within: float
    groups: tuple[Hashable, ...]

    @property
    def freedom(self) -> int:
        return len(self.values) - 1

    @cached_property
    def variance(self) -> float:
        return _variance([log(value) for value in self.values]) if self.freedom else 0.0


def _variance(values: Sequence[float]) -> float:
    """That of the statistics module is exact, and ten times as slow."""
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - 1)


def spreads(cases: Sequence[Rounds]) -> list[Spread]:
    """The spread of each case, in the order given."""
    shared: dict[Hashable, list[Rounds]] = {}
    for case in cases:
        for key in case.groups if case.freedom else ():
            shared.setdefault(key, []).append(case)
    enough = {key: _prior(some) for key, some in shared.items() if _freedom(some) >= LEAST_FREEDOM}
    return [_spread(case, enough) for case in cases]


def _freedom(cases: Sequence[Rounds]) -> int:
    return sum(case.freedom for case in cases)


@dataclass(frozen=True)
class _Prior:
    """What like cases say of a variance before the case itself is seen."""

    variance: float
    freedom: float
    total: int  # degrees of freedom of all cases


def _prior(cases: Sequence[Rounds]) -> _Prior:
    total = _freedom(cases)
    least = max(_LEAST_VARIANCE * median(case.variance for case in cases), _LEAST_DEVIATION**2)
    variances = [max(case.variance, least) for case in cases]
    freedoms = [case.freedom for case in cases]
    logs = [log(one) - _digamma(d / 2) + log(d / 2) for one, d in zip(variances, freedoms, strict=True)]
    scatter = (_variance(logs) if len(logs) > 1 else 0.0) - fmean(_trigamma(d / 2) for d in freedoms)
    if scatter <= 0:  # no more than chance explains: one variance for all
        pooled = sum(one * d for one, d in zip(variances, freedoms, strict=True)) / total
        return _Prior(pooled, inf, total)
    freedom = 2 * _inverse_trigamma(scatter)
    return _Prior(exp(fmean(logs) + _digamma(freedom / 2) - log(freedom / 2)), freedom, total)


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
    return Spread(max(sqrt(between), case.within, _LEAST_DEVIATION), freedom, prior is not None)


def for_many(comparisons: int) -> float:
    """The level of each of so many comparisons at which all together keep theirs (Šidák 1967)."""
    return float(1 - JOINT_CONFIDENCE ** (1 / max(comparisons, 1)))


@lru_cache(maxsize=4096)
def student(level: float, freedom: float) -> float:
    """The two-sided quantile of Student's t: |t| exceeds it with probability `level`."""
    freedom = min(freedom, _NORMAL)
    t = 0.5
    while _tail(2 * t, freedom) > level:
        t *= 2
    # Newton's method from the left: the tail falls and is convex, so no step goes too far.
    scale = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * pi) / 2
    for _ in range(60):
        density = exp(scale - (freedom + 1) / 2 * log1p(t * t / freedom))
        step = (_tail(t, freedom) - level) / (2 * density)
        t += step
        if abs(step) < 1e-12 * t:
            break
    return t


def _tail(t: float, freedom: float) -> float:
    """Probability that |t| is exceeded."""
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function by its continued fraction (Abramowitz and Stegun, 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    # Evaluated from the front by Lentz's method.
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


def _digamma(x: float) -> float:
    """Abramowitz and Stegun, 6.3.5 and 6.3.18."""
    shift = 0.0
    while x < 8:
        shift -= 1 / x
        x += 1
    square = 1 / (x * x)
    return shift + log(x) - 1 / (2 * x) - square * (1 / 12 - square * (1 / 120 - square / 252))


def _trigamma(x: float) -> float:
    """Abramowitz and Stegun, 6.4.6 and 6.4.12."""
    shift = 0.0
    while x < 8:
        shift += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    return shift + 1 / x + square / 2 + square / x * (1 / 6 - square * (1 / 30 - square / 42))


def _inverse_trigamma(y: float) -> float:
    """By bisection: trigamma falls from infinity to 0."""
    low, high = 1e-4, 1e8
    for _ in range(200):
        middle = sqrt(low * high)
        low, high = (middle, high) if _trigamma(middle) > y else (low, middle)
    return sqrt(low * high)
