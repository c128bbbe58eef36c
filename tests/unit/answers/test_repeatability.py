"""Repeatability intervals: what another run would give, from few rounds with variances shared."""

from __future__ import annotations

import math
import random
from math import exp
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.answers.results.repeatability import (
    Rounds,
    Spread,
    _digamma,
    _trigamma,
    for_many,
    spreads,
    student,
)
from byteways.answers.results.summary import Result


@pytest.mark.parametrize(
    ("level", "freedom", "quantile"),
    [(0.05, 2, 4.3027), (0.05, 20, 2.0860), (0.01, 4, 4.6041), (0.05, 1, 12.7062), (0.05, 1e9, 1.95996)],
)
def test_student(level: float, freedom: float, quantile: float) -> None:
    """Catches a quantile of one side, or of a continued fraction that was cut too early."""
    assert student(level, freedom) == pytest.approx(quantile, abs=1e-4)


@pytest.mark.parametrize("freedom", [1.0, 2.5, 48.0])
def test_quantiles_far_out(freedom: float) -> None:
    """Catches steps towards a quantile that end before it: of 400 ways at once it lies far out."""
    level = for_many(400 * 399 // 2)
    inner, outer = (student(factor * level, freedom) for factor in (1.01, 0.99))
    assert inner < student(level, freedom) < outer
    assert student(2 * (1 - 0.975), 1.0) == pytest.approx(12.706204736432095, rel=1e-9)


def test_many_comparisons_keep_their_level_together() -> None:
    """Catches a level that is divided by the number of ways instead of by that of comparisons."""
    assert for_many(1) == pytest.approx(0.04)
    assert (1 - for_many(15)) ** 15 == pytest.approx(0.96)


def measured(random_: random.Random, deviation: float, rounds: int = 3) -> tuple[float, ...]:
    return tuple(exp(random_.gauss(0.0, deviation)) for _ in range(rounds))


DEVIATIONS = {
    "alike": lambda random_: 0.005,
    "spread": lambda random_: 0.005 * exp(random_.gauss(0.0, 0.7)),
    "some noisy": lambda random_: 0.05 if random_.random() < 0.1 else 0.003,
}


@pytest.mark.parametrize("deviation", DEVIATIONS.values(), ids=list(DEVIATIONS))
def test_the_next_run_lies_within(deviation) -> None:  # type: ignore[no-untyped-def]
    """Catches an interval of the median alone (83 % of next runs), and a pooled variance that noisy cases or
    quiet ones pay for.
    """
    random_ = random.Random(1)
    inside = total = 0
    for _ in range(40):
        deviations = [deviation(random_) for _ in range(30)]
        cases = [Rounds(measured(random_, one), 0.0, ("like",)) for one in deviations]
        for one, case, spread in zip(deviations, cases, spreads(cases), strict=True):
            low, high = spread.interval(median(case.values), 3)
            inside += low <= median(measured(random_, one)) <= high
            total += 1
    assert 0.92 < inside / total < 0.985


def test_three_rounds_alone_share_nothing() -> None:
    """Catches a variance that is shared by too few cases, or between those that are not alike."""
    cases = [Rounds((1.0, 1.01, 0.99), 0.0, (number,)) for number in range(20)]
    assert {spread.freedom for spread in spreads(cases)} == {2.0}
    alike = [Rounds((1.0, 1.01, 0.99), 0.0, (number, "run")) for number in range(20)]
    assert {spread.freedom for spread in spreads(alike)} == {40.0}


def test_a_noisy_case_keeps_its_own_variance() -> None:
    """Catches heterogeneous cases that share one variance: the noisy one would be called exact."""
    random_ = random.Random(2)
    quiet = [Rounds(measured(random_, 0.002), 0.0, ("like",)) for _ in range(20)]
    noisy = Rounds((0.5, 1.0, 2.0), 0.0, ("like",))
    *rest, last = spreads([*quiet, noisy])
    assert last.deviation > 0.2 > 20 * median(spread.deviation for spread in rest)


@pytest.mark.parametrize(("rounds", "keeps"), [(3, False), (4, False), (5, True), (9, True)])
def test_a_case_that_stayed_in_one_state_keeps_its_own_variance(rounds: int, keeps: bool) -> None:
    """Catches a quiet case that has the two states of like cases however many rounds show one, and one of
    three rounds that is called sure although its other state may come next.
    """
    states = [Rounds((1.0, 1.08, 1.0, 1.0801, 1.08), 0.0, ("like",)) for _ in range(11)]
    quiet = Rounds(tuple(1.0 + 0.001 * (number % 2) for number in range(rounds)), 0.0, ("like",))
    *rest, last = spreads([*states, quiet])
    assert all(spread.two_states and spread.deviation > 0.03 for spread in rest)
    assert last.two_states is not keeps
    assert (last.deviation < 0.001) is keeps
    if keeps:
        assert last.freedom == rounds - 1


def test_rounds_that_agree_are_no_surer_than_their_samples() -> None:
    """Catches three equal rounds of a coarse timer that are taken for exact."""
    (spread,) = spreads([Rounds((1.0, 1.0, 1.0), 0.01, ())])
    assert spread.deviation == 0.01


def test_the_median_of_three_is_surer_than_one() -> None:
    """Catches the spread of one round taken for that of the median."""
    assert Spread(1.0, 2.0).of_median(1) == 1.0
    assert Spread(1.0, 2.0).of_median(3) == pytest.approx(0.67, abs=0.01)
    assert Spread(1.0, 2.0).of_median(100) == pytest.approx(0.1253, abs=0.001)


def test_polygamma_functions() -> None:
    """Catches a wrong term of the series, which the intervals are computed with: known values."""
    assert _digamma(1.0) == pytest.approx(-0.5772156649015329, rel=1e-9)
    assert _digamma(10.0) == pytest.approx(2.251752589066721, rel=1e-9)
    assert _trigamma(1.0) == pytest.approx(math.pi**2 / 6, rel=1e-8)
    assert _trigamma(0.5) == pytest.approx(math.pi**2 / 2, rel=1e-8)
    assert _trigamma(8.0) == pytest.approx(0.133137014694, rel=1e-8)


@pytest.mark.parametrize(
    ("rounds", "deviation"),
    [((50.0,), 0.01), ((50.0, None, 50.1), 0.01), ((40.0, 60.0), math.log(1.5) / math.sqrt(2))],
)
def test_a_part_is_known_as_well_as_its_own_rounds_agree(
    rounds: tuple[float | None, ...], deviation: float
) -> None:
    """Catches a direction without a doubt of its own, and one round that is given the largest."""
    cell: Any = SimpleNamespace(spread=Spread(0.01, 20.0), rounds=3)
    part = Result.beside(cell, 50.0, rounds)
    assert (part.low, part.high) == pytest.approx(Spread(deviation, 20.0).interval(50.0, 3))
