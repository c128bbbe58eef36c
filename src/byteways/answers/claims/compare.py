"""Compares results: the only place that makes comparative claims.

A claim is data: the two results, their settings, the number of paths and how many agree, and the effect with
its simultaneous interval. Sentences are rendered from claims only (wording.py).

A lead must be at least 1 % and exceed an interval corrected for the number of comparisons (Šidák); otherwise
the claim is a tie. Results must share path, size, cache state, pattern, byte count and timing, except what a
caller names. Over several paths, a lead requires that none trails and that most lead, each by itself or in
agreement with the ratio over all of them (effects.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, log, sqrt
from statistics import fmean, median, stdev
from typing import Protocol

from byteways.answers.claims.claim import (
    LEADS,
    MIXED,
    NOT_COMPARED,
    READ,
    TIE,
    TRAILS,
    Claim,
    Reference,
    cells_of,
)
from byteways.answers.claims.effects import LEAST_LEAD, Effect, deviation_of_ratio, path_effect, pooled_effect
from byteways.answers.results.families import comparisons_within, pairs_of
from byteways.answers.results.repeatability import (
    CONFIDENCE,
    LEAST_ROUNDS,
    Rounds,
    Spread,
    exceeded,
    for_many,
    spreads,
    student,
)
from byteways.answers.results.summary import Result, ResultGroup, group_by
from byteways.cases.interfaces import metric_of
from byteways.cases.options import TIMING

#: Widest half of an interval of logarithms: a factor of 10^43, which says nothing and is still a number.
WIDEST_INTERVAL = 100.0

#: Of results that are not compared.
_NO_EFFECT = Effect(1.0, 0.0, 0.0)

#: Fields that must be equal unless a caller declares them different. Timings between ranks are other loops:
#: back to back, from a common start, or those of OSU's programs.
_LIKE: Mapping[str, Callable[[Result], object]] = {
    **{name: READ[name] for name in ("size", "cache", "counts", "pattern")},
    "timing": lambda cell: cell.record.options.get(TIMING.name, TIMING.default),
}


def path_of(cell: Result) -> Hashable:
    return cell.record.path


def compare(
    first: Result | ResultGroup,
    second: Result | ResultGroup,
    *,
    kind: str = "difference",
    ways: int = 2,
    comparisons: int | None = None,
    across: Iterable[str] = (),
    match: Callable[[Result], Hashable] | None = path_of,
    names: tuple[str, str] = ("", ""),
    quantity: str = "",
) -> Claim:
    """Compares two results, path by path if they have several.

    Args:
        first: The subject of the claim.
        second: The result it is compared with.
        kind: The kind of claim.
        ways: Number of alternatives: the interval holds for all pairs of them simultaneously, and at least
            for those of the family of the two results (families.py).
        comparisons: The number of comparisons itself, whatever the families.
        across: Elements of `_LIKE` in which the two differ intentionally.
        match: Key that pairs results of first and second; None compares every one with every one.
        names: Names of both, instead of descriptions of their settings.
        quantity: The metric, if not that of the interface.
    """
    ones, others = cells_of(first), cells_of(second)
    across = frozenset(across)
    if match is None:
        pairs = [(one, other) for one in ones for other in others]
    else:
        partners = group_by(others, match)
        pairs = [(one, other) for one in ones for other in partners.get(match(one), ())]
    pairs = [(one, other) for one, other in pairs if one is not other]
    if comparisons is None:
        within = [] if quantity else [comparisons_within(*pair) for pair in pairs]
        comparisons = max([pairs_of(ways), *within])
    ranked = [(one, other) for one, other in pairs if one.ranked and other.ranked]
    reason = _obstacle(pairs, ranked, across)
    level = for_many(comparisons)
    effects = [] if reason else [path_effect(*pair, level) for pair in ranked]
    pooled = None if reason else pooled_effect(ranked, level)
    return _claim(first, second, (kind, quantity, comparisons), effects, reason, names, pooled)


def summed(parts: Sequence[Result]) -> Result:
    """Returns the sum of results: the flows of a concurrent case, each measured alone."""
    first, total = parts[0], sum(part.value for part in parts)
    squares = [(part.value / total * part.spread.of_median(part.rounds)) ** 2 for part in parts]
    whole = sum(squares)
    degrees = (square**2 / part.spread.freedom for square, part in zip(squares, parts, strict=True))
    one_round = Spread(1.0, 1.0).of_median(first.rounds)
    shared = any(part.spread.shared for part in parts)
    spread = Spread(sqrt(whole) / one_round, whole**2 / sum(degrees), shared)
    low, high = spread.interval(total, first.rounds)
    return replace(first, value=total, low=low, high=high, spread=spread, sum_of=tuple(parts), by_round={})


def compare_all(pairs: Sequence[tuple[Result, Result]], *, kind: str = "difference") -> list[Claim]:
    """Compares many pairs of results of equal cases, so that all claims hold simultaneously.

    Holm's step-down procedure (S. Holm, Scand. J. Stat. 6, 1979) with Šidák's levels: the pair with the
    smallest probability under equality is compared as one of n, the next as one of n - 1, and so on until one
    is no difference; all further pairs have its interval. It controls the probability of any false difference
    whatever else differs, since each named case is acted upon by itself.

    Args:
        pairs: Results with their counterparts; both may be ranked.
        kind: The kind of claim.
    """
    chances = [_chance(one, other) for one, other in pairs]
    claims: dict[int, Claim] = {}
    left, open_ = len(pairs), True
    for place in sorted(range(len(pairs)), key=chances.__getitem__):
        claims[place] = compare(*pairs[place], kind=kind, comparisons=left)
        open_ = open_ and chances[place] < for_many(left)
        left -= open_
    return [claims[place] for place in range(len(pairs))]


def compare_with_reference(cell: Result, reference: Reference, *, kind: str, comparisons: int) -> Claim:
    """Compares a result with what is expected of it.

    The interval contains the variation between the rounds of the result and that of the reference (Welch and
    Satterthwaite), and holds for `comparisons` simultaneously.
    """
    own, expected = cell.spread.of_median(cell.rounds) ** 2, reference.deviation**2
    total = own + expected
    freedom = total**2 / (own**2 / cell.spread.freedom + expected**2 / reference.freedom)
    half = min(student(for_many(comparisons), freedom) * sqrt(total), WIDEST_INTERVAL)
    ratio = log(cell.value / reference.value)
    effect = Effect.around(ratio, half)
    around = min(student(1 - CONFIDENCE, reference.freedom) * reference.deviation, WIDEST_INTERVAL)
    low, high = reference.value * exp(-around), reference.value * exp(around)
    other = replace(cell, value=reference.value, low=low, high=high)
    return _claim(cell, other, (kind, "", comparisons), [effect], "", ("", reference.name))


def _chance(one: Result, other: Result) -> float:
    """Returns the probability of a ratio as far from 1 as this one if both results are equal."""
    if one.value <= 0 or other.value <= 0:
        return 1.0
    deviation, freedom = deviation_of_ratio(one, other)
    return exceeded(abs(log(one.value / other.value)) / deviation, freedom)


def _obstacle(
    pairs: Sequence[tuple[Result, Result]], ranked: Sequence[tuple[Result, Result]], across: frozenset[str]
) -> str:
    """Returns why two results cannot be compared; '' if they can."""
    if not pairs:
        return "no path in common"
    if not ranked:
        few = any(cell.rounds < LEAST_ROUNDS for pair in pairs for cell in pair)
        return "of too few rounds" if few else "under a warning that voids a comparison"
    unlike = [
        what
        for what, read in _LIKE.items()
        if what not in across and any(read(one) != read(other) for one, other in ranked)
    ]
    if unlike:
        return f"of different {' and '.join(unlike)}"
    return ""


def _claim(
    first: Result | ResultGroup,
    second: Result | ResultGroup,
    what: tuple[str, str, int],
    effects: Sequence[Effect],
    reason: str,
    names: tuple[str, str],
    pooled: Effect | None = None,
) -> Claim:
    kind, quantity, comparisons = what
    agree = sum(effect.leads or _shares(effect, pooled, leads=True) for effect in effects)
    against = sum(effect.trails or _shares(effect, pooled, leads=False) for effect in effects)
    by_rate = metric_of(cells_of(first)[0].record.interface) == "bandwidth"
    whole = min(filter(None, (_middle(effects), pooled)), key=lambda effect: effect.width, default=_NO_EFFECT)
    return Claim(
        kind,
        _verdict(len(effects), agree, against),
        quantity or ("bandwidth" if by_rate else "latency"),
        (first, second),
        names,
        whole.ratio,
        whole.low,
        whole.high,
        comparisons,
        len(effects),
        agree,
        against,
        reason,
    )


def _shares(effect: Effect, pooled: Effect | None, *, leads: bool) -> bool:
    """Whether a path goes along with a lead, or a lag, that all paths show together."""
    if pooled is None:
        return False
    if leads:
        return pooled.leads and effect.ratio >= 1 + LEAST_LEAD and effect.high >= pooled.ratio
    return pooled.trails and effect.ratio * (1 + LEAST_LEAD) <= 1 and effect.low <= pooled.ratio


def _middle(effects: Sequence[Effect]) -> Effect | None:
    """Returns the median over paths; that of one path, the usual number, is itself."""
    if len(effects) < 2:
        return effects[0] if effects else None
    return Effect(
        median(effect.ratio for effect in effects),
        median(effect.low for effect in effects),
        median(effect.high for effect in effects),
    )


def _verdict(pairs: int, agree: int, against: int) -> str:
    if not pairs:
        return NOT_COMPARED
    if agree and against:
        return MIXED
    if 2 * agree > pairs:
        return LEADS
    return TRAILS if 2 * against > pairs else TIE


def moved(series: Sequence[tuple[Result, Sequence[float]]]) -> list[Claim]:
    """Tests whether the last third of each series of rounds differs from its first third.

    The standard deviation of a round is estimated from successive differences (J. von Neumann, Ann. Math.
    Stat. 12, 1941), which slow changes hardly affect, and pooled over like cases. Intervals hold for all
    series simultaneously.
    """
    cases = [_successive(values) for _, values in series]
    claims = []
    for (cell, values), spread in zip(series, spreads(cases), strict=True):
        third = max(len(values) // 3, 1)
        late, early = values[-third:], values[:third]
        ratio = fmean(log(value) for value in late) - fmean(log(value) for value in early)
        half = student(for_many(len(series)), spread.freedom) * spread.deviation * sqrt(2 / third)
        effect = Effect.around(ratio, half)
        last, first = (
            replace(cell, value=value, low=value * exp(-half), high=value * exp(half))
            for value in (exp(fmean(map(log, late))), exp(fmean(map(log, early))))
        )
        names = "last third", "first third"
        claims.append(_claim(last, first, ("moved", "", len(series)), [effect], "", names))
    return claims


def _successive(values: Sequence[float]) -> Rounds:
    """Returns pseudo-rounds whose variance is half the mean square of successive differences."""
    steps = [log(b / a) for a, b in pairwise(values)]
    deviation = sqrt(fmean(step**2 for step in steps) / 2)
    # Overlapping differences are worth two thirds as many independent values.
    worth = max(2 * len(steps) // 3, 1)
    signs = [(-1.0) ** number for number in range(worth + 1)]
    scale = deviation / stdev(signs)
    return Rounds(tuple(exp(scale * sign) for sign in signs), 0.0, ("series",))


class HasInterval(Protocol):
    """A ratio with its simultaneous interval: a claim, or many pooled (two_runs/pooled.py)."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def least_change(found: HasInterval) -> float:
    """Returns the least relative loss that a comparison with this interval would have found.

    A ratio differs from 1 when the logarithm of it exceeds the half-width of its interval.

    Returns:
        A part of 1, at least LEAST_LEAD: 0.12 is a loss of 12 %. 1 where no loss would have been found.
    """
    if found.low <= 0 or found.high == float("inf"):
        return 1.0
    return max(1 - sqrt(found.low / found.high), LEAST_LEAD)
