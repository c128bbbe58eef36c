"""Effects: rounds and paths as evidence, and rounds in two states."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest

from byteways.answers.claims.claim import LEADS, TIE, Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.effects import common_rounds, pooled_effect
from byteways.answers.results.repeatability import Rounds, f_exceeded, for_many, median_variance, spreads
from byteways.answers.results.summary import Result, cells, pool
from byteways.answers.results.two_states import have_two_states
from byteways.record.record import Record
from tests.changed import replace
from tests.report.few_records import GB, GIB, flow, record

PATHS = [(f"gpu{a}", f"gpu{b}") for a in range(4) for b in range(4) if a != b]


def measured(interface: str, path: tuple[str, str], rates: Sequence[float]) -> list[Record]:
    """A case with one record for each of these rates, in GB/s."""
    ends = (f"{path[0]}:device", f"{path[1]}:device", path[0])
    alike = record(interface, [flow(*ends)], GB, GIB)
    return [
        replace(alike, round=number, bandwidth_bytes_per_s=rate * GB) for number, rate in enumerate(rates)
    ]


def compared(copies: np.ndarray, kernels: np.ndarray, rounds: int = 3) -> Claim:
    """Copy against kernel; rates by path and round."""
    found = {}
    for interface, rates in (("copy", copies), ("kernel", kernels)):
        records = [
            one
            for path, row in zip(PATHS, rates.tolist(), strict=False)
            for one in measured(interface, path, row[:rounds])
        ]
        found[interface] = pool(cells(records))
    return compare(found["copy"], found["kernel"])


def noise(paths: int, rounds: int, deviation: float, seed: int = 1) -> np.ndarray:
    return np.exp(deviation * np.random.default_rng(seed).normal(size=(paths, rounds)))


def test_many_paths_decide_what_one_cannot() -> None:
    """Catches paths that dilute a lead: 4 % in rounds that vary by 3 % is clear on 12 paths alone."""
    copies, kernels = 104 * noise(12, 3, 0.03), 100 * noise(12, 3, 0.03, seed=2)
    whole = compared(copies, kernels)
    assert (whole.verdict, whole.against) == (LEADS, 0)
    assert whole.low > 1
    alone = [compared(copies[path : path + 1], kernels[path : path + 1]).verdict for path in range(12)]
    assert alone.count(TIE) > 6


def test_a_disturbance_of_a_round_cancels() -> None:
    """Catches results of the same rounds compared as if they were independent."""
    shifts = np.array([[1.0, 0.8, 1.2]])
    copies, kernels = 104 * shifts * noise(6, 3, 0.003), 100 * shifts * noise(6, 3, 0.003, seed=2)
    assert compared(copies, kernels).verdict == LEADS
    # One path needs more rounds than three: these may agree by chance.
    assert compared(copies[:1], kernels[:1]).verdict == TIE
    more = (
        104 * np.tile(shifts, 3) * noise(1, 9, 0.003),
        100 * np.tile(shifts, 3) * noise(1, 9, 0.003, seed=2),
    )
    assert compared(*more, rounds=9).verdict == LEADS


def test_rounds_that_shift_all_paths_are_few_observations() -> None:
    """Catches twelve paths taken for twelve observations where one interface had a slow round on all."""
    copies, kernels = 100 * noise(12, 3, 0.002), 100 * noise(12, 3, 0.002, seed=2)
    shifted = copies * np.array([[1.0, 1.06, 1.03]])
    assert compared(shifted, kernels).verdict == TIE
    assert compared(shifted, kernels).high > 1.06


def test_a_lead_on_half_of_the_paths_is_none_over_all() -> None:
    """Catches a median between two groups of paths reported as a lead on all of them."""
    copies, kernels = 100 * noise(12, 3, 0.001), 100 * noise(12, 3, 0.001, seed=2)
    copies[:6] *= 1.1
    claim = compared(copies, kernels)
    assert (claim.verdict, claim.agree, claim.pairs) == (TIE, 6, 12)


def test_only_rounds_of_all_results_are_paired() -> None:
    """Catches ratios of different rounds, and paths pooled although a result is on both sides of two."""
    first = found_of("copy", [1.0, 2.0, 3.0])
    second = found_of("kernel", [1.0, 2.0, 3.0], first_round=1)
    assert common_rounds(first, second) == [1, 2]
    assert pooled_effect([(first, second), (first, second)], 0.05) is None


def found_of(interface: str, rates: Sequence[float], first_round: int = 0) -> Result:
    records = [replace(one, round=one.round + first_round) for one in measured(interface, PATHS[0], rates)]
    (result,) = cells(records)
    return result


TWO = [[0.0, 0.08, 0.0801], [0.0, 0.0001, 0.0802], [0.0, 0.0, 0.0], [0.0001, 0.08, 0.0801]]
NORMAL = [[0.0, 0.03, 0.08], [0.0, 0.05, 0.08], [0.0, 0.0001, 0.08], [0.0, 0.02, 0.05]]


@pytest.mark.parametrize(("cases", "two"), [(TWO, True), (NORMAL, False), ([], False), ([[0.0] * 3], False)])
def test_rounds_in_two_states(cases: list[list[float]], two: bool) -> None:
    """Catches two states taken for noise, and one divided case among many taken for two states."""
    assert have_two_states(cases) is two


def test_two_states_do_not_average() -> None:
    """Catches the median of rounds in two states taken to be steadier than a round, and a case that stayed
    in one of them taken to be exact.
    """
    like = [Rounds(tuple(np.exp(values)), 0.0, ("like",)) for values in TWO]
    found = spreads(like)
    assert all(one.two_states and one.of_median(3) == one.deviation for one in found)
    low, high = found[2].interval(1.0, 3)
    assert low < 1 / 1.08
    assert high > 1.08
    steady = spreads([Rounds(tuple(np.exp(values)), 0.0, ("like",)) for values in NORMAL])
    assert not any(one.two_states for one in steady)


def test_intervals_within_rounds_are_bounds_only_as_far_as_rounds_scatter() -> None:
    """Catches intervals that stay wide because those of samples are wider than what like cases scatter."""
    rng = np.random.default_rng(3)
    like = [Rounds(tuple(np.exp(0.01 * rng.normal(size=3))), 0.02, ("like",)) for _ in range(40)]
    middle = float(np.median([one.deviation for one in spreads(like)]))
    assert 0.009 < middle < 0.014
    alone = spreads([like[0]])[0]
    assert alone.deviation >= 0.02


@pytest.mark.parametrize(("ratio", "above", "below", "chance"), [(4.46, 2, 8, 0.05), (9.0, 2, 6, 0.0156)])
def test_fishers_distribution(ratio: float, above: int, below: int, chance: float) -> None:
    """Catches degrees of freedom in the wrong order (tables: Abramowitz and Stegun, 26.9)."""
    assert f_exceeded(ratio, above, below) == pytest.approx(chance, rel=0.01)


def test_a_wide_interval_of_few_rounds_counts_every_comparison() -> None:
    """Catches a pooled interval that forgets the number of comparisons."""
    copies, kernels = 103 * noise(4, 3, 0.02), 100 * noise(4, 3, 0.02, seed=2)
    sides = [
        [cells(measured(name, path, row))[0] for path, row in zip(PATHS, rates.tolist(), strict=False)]
        for name, rates in (("copy", copies), ("kernel", kernels))
    ]
    pairs = list(zip(*sides, strict=True))
    one, many = (pooled_effect(pairs, for_many(count)) for count in (1, 100))
    assert one is not None and many is not None
    assert log(many.width) > 1.5 * log(one.width)
    assert median_variance(4) == pytest.approx(0.2982)
