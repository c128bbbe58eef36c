"""The stopping rule and the interval of the median, with the rule on (docs/concepts/how-we-time.md)."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from byteways import _core

SERIES = 1000
LENGTH = 400


def lognormal(rng: np.random.Generator, sd: float) -> tuple[np.ndarray, float]:
    return np.exp(rng.normal(0, sd, LENGTH)), 1.0


def bimodal(rng: np.random.Generator, share: float, apart: float) -> tuple[np.ndarray, float]:
    """Two narrow modes; the true median is that of the mixture, found numerically once."""
    high = rng.random(LENGTH) < share
    return np.where(high, 1 + apart, 1.0) * np.exp(rng.normal(0, 0.01, LENGTH)), mixture_median(share, apart)


@functools.cache
def mixture_median(share: float, apart: float) -> float:
    rng = np.random.default_rng(1)
    high = rng.random(2_000_000) < share
    return float(np.median(np.where(high, 1 + apart, 1.0) * np.exp(rng.normal(0, 0.01, 2_000_000))))


def autoregressive(rng: np.random.Generator, rho: float) -> tuple[np.ndarray, float]:
    noise = rng.normal(0, 1, LENGTH)
    series = np.empty(LENGTH)
    series[0] = noise[0]
    for k in range(1, LENGTH):
        series[k] = rho * series[k - 1] + np.sqrt(1 - rho * rho) * noise[k]
    return np.exp(0.02 * series), 1.0


def quantised(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """A coarse timer: steps of 0.5 %. The median of the rounded values is what can be known."""
    return np.round(np.exp(rng.normal(0, 0.02, LENGTH)) / 0.005) * 0.005, 1.0


def negative(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    return autoregressive(rng, -0.5)


def wandering(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    return autoregressive(rng, 0.95)


def coverage(make) -> float:
    """Share of series whose reported interval, when the rule itself chose to stop, holds the true median."""
    rng = np.random.default_rng(20261121)
    held = 0
    for _ in range(SERIES):
        series, truth = make(rng)
        stopped = _core.stop(series.tolist(), 0.01) or LENGTH
        low, high = _core.summarize(series[:stopped].tolist()).ci95
        held += low - 1e-12 <= truth <= high + 1e-12
    return held / SERIES


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("lognormal 1 %", lambda rng: lognormal(rng, 0.01)),
        ("lognormal 3 %", lambda rng: lognormal(rng, 0.03)),
        ("bimodal 30 %", lambda rng: bimodal(rng, 0.3, 0.05)),
        ("bimodal 20 %", lambda rng: bimodal(rng, 0.2, 0.10)),
        ("autoregressive 0.5", lambda rng: autoregressive(rng, 0.5)),
        ("autoregressive 0.7", lambda rng: autoregressive(rng, 0.7)),
    ],
)
def test_coverage_with_the_rule_switched_on(name: str, make) -> None:
    """Catches an interval that is too narrow once the rule picks the moment to stop (or absurdly wide)."""
    covered = coverage(make)
    assert 0.92 <= covered <= 0.99, f"{name}: {covered:.3f}"


@pytest.mark.parametrize(
    ("name", "make"),
    [("quantised", quantised), ("negatively correlated", negative), ("slowly wandering", wandering)],
)
def test_coverage_of_odd_series_is_not_below_nominal(name: str, make) -> None:
    """Ties, alternation and dependence that lasts may widen the interval, never narrow it."""
    assert coverage(make) >= 0.92, name


def test_a_steady_series_stops_at_the_second_look() -> None:
    """Catches a rule that stops at its first narrow look (20) instead of confirming (30)."""
    assert _core.stop([100.0 + 0.01 * (k % 3) for k in range(100)], 0.01) == 30


def test_a_wild_series_never_stops() -> None:
    """Catches a rule that gives up silently."""
    rng = np.random.default_rng(3)
    assert _core.stop(np.exp(rng.normal(0, 0.5, 200)).tolist(), 0.01) == 0


def test_summary_of_a_known_series() -> None:
    """Exact order statistics of 1 … 9 in mixed order."""
    summary = _core.summarize([5, 1, 9, 3, 7, 2, 8, 4, 6])
    assert (summary.n, summary.median, summary.min, summary.max, summary.mean) == (9, 5, 1, 9, 5)
    assert summary.sd == pytest.approx(2.7386127875)
    assert 1 <= summary.ci95[0] <= 5 <= summary.ci95[1] <= 9


@given(st.lists(st.floats(0.1, 1e12), min_size=1, max_size=80))
@example([1.0, 1.0, 1.0, 897650471528.4062, 1.0, 897650471528.4062])  # rounding left the samples
def test_interval_holds_the_median_and_lies_within_the_samples(samples: list[float]) -> None:
    """Catches index errors of the interpolated interval at small n, ties and outliers. Beyond the samples it
    goes by half a step of the timer at most, which is never more than a twentieth of the median.
    """
    summary = _core.summarize(samples)
    low, high = summary.ci95
    step = 0.026 * sorted(samples)[len(samples) // 2]
    assert min(samples) - step <= low <= summary.median * (1 + 1e-12)
    assert summary.median * (1 - 1e-12) <= high <= max(samples) + step


def noise(seed: int, count: int = 90) -> np.ndarray:
    return 100 * np.exp(np.random.default_rng(seed).normal(0, 0.002, count))


def found(samples: np.ndarray) -> list[str]:
    return [warning.id for warning in _core.series_warnings(samples.tolist())]


def test_a_quiet_series_warns_of_nothing() -> None:
    """Catches thresholds that plain noise exceeds."""
    assert [found(noise(seed)) for seed in range(50)] == [[]] * 50


def test_drift_is_a_trend_of_the_whole_series() -> None:
    """Catches clocks that settle while samples are taken; a disturbance in the middle is no drift."""
    samples = noise(1)
    samples[60:] *= 1.03
    [drift] = [warning for warning in _core.series_warnings(samples.tolist()) if warning.id == "drift"]
    assert (drift.observed, drift.required) == (pytest.approx(0.03, abs=0.003), 0.005)
    middle = noise(2)
    middle[30:60] *= 1.03
    assert "drift" not in found(middle)


def test_two_modes_are_told_from_one_and_from_close_ones() -> None:
    """Catches a median between two modes without a warning, and a warning for steps below 1 %."""
    high = np.random.default_rng(4).random(90) < 0.4
    assert "bimodal" in found(noise(3) * np.where(high, 1.1, 1))
    assert "bimodal" not in found(noise(3) * np.where(high, 1.007, 1))
    assert "bimodal" in found(np.where(high, 110.0, 100.0))  # no spread within the groups at all


def test_neighbours_that_depend_on_each_other_are_reported() -> None:
    """Catches an interval that is too narrow for a wandering series, without a word."""
    walk = 100 + np.cumsum(np.random.default_rng(5).normal(0, 0.01, 90))
    assert "correlated" in found(walk)


def test_a_slow_drift_over_few_samples_is_seen() -> None:
    """Catches a trend of 1 % over 30 samples that no comparison of thirds sees."""
    rng = np.random.default_rng(6)
    seen = [
        "drift" in found(100 * (1 + 0.01 * np.arange(30) / 29 + rng.normal(0, 0.002, 30))) for _ in range(50)
    ]
    assert sum(seen) >= 48


def test_dependence_over_many_lags_widens_the_interval() -> None:
    """Catches a slow part behind white noise, which neighbouring samples hardly show: of 300 such series, a
    look at lag 1 alone leaves four in ten intervals without the median, and says nothing.
    """
    rng = np.random.default_rng(7)
    silent = 0
    for _ in range(300):
        slow = np.log(autoregressive(rng, 0.95)[0]) / 2
        series = np.exp(slow + rng.normal(0, 0.01, LENGTH))
        taken = series[: _core.stop(series.tolist(), 0.01) or LENGTH]
        low, high = _core.summarize(taken.tolist()).ci95
        silent += not low <= 1 <= high and not found(taken)
    assert silent <= 0.05 * 300


def test_the_interval_is_not_narrower_than_the_timer() -> None:
    """Catches a width of 0 where the timer's steps make all samples one value, or two."""
    summary = _core.summarize([100.0] * 30, 0.5)
    assert summary.ci95 == (99.75, 100.25)
    coarse = [100.0, 100.0, 100.5, 100.0, 100.0] * 6
    assert _core.summarize(coarse).ci95 == (99.75, 100.25)
    assert [warning.id for warning in _core.series_warnings(coarse)] == ["quantised"]
    fine = [100 + 0.01 * (7 * k % 30) for k in range(30)]  # finer than the steps, which average out
    low, high = _core.summarize(fine, 0.5).ci95
    assert high - low < 0.3


def test_samples_count_over_all_rounds() -> None:
    """Catches rounds that each take the samples of a case that is measured once."""
    steady = [100.0 + 0.01 * (k % 3) for k in range(100)]
    assert [_core.stop(steady, 0.01, rounds) for rounds in (1, 2, 3)] == [30, 15, 11]
    rng = np.random.default_rng(8)
    noisy = (100 * np.exp(rng.normal(0, 0.02, 400))).tolist()
    assert _core.stop(noisy, 0.01, 3) < _core.stop(noisy, 0.01) / 1.5


def test_what_contradicts_itself_is_discarded() -> None:
    """Catches a batch kept whose gate the watchdog opened, or whose events lie apart by more than the host
    waited.
    """
    assert _core.contradiction(device_ns=1e6, submit_ns=5e5, host_ns=1.6e6) == ""
    assert _core.contradiction(device_ns=1e6, submit_ns=5e5, host_ns=1.6e6, gate_opened=True) == "gate-opened"
    assert _core.contradiction(device_ns=1e6, submit_ns=5e5, host_ns=1.4e6) == "clocks-disagree"
    assert _core.contradiction(device_ns=1e6, submit_ns=5e5, host_ns=1.4e6, gated=False) == ""


def test_a_call_that_moves_the_bytes_is_told_from_one_that_enqueues() -> None:
    """Catches small pageable copies: 28 us on the device, 166 us in the call, and 37 GB/s reported."""
    assert _core.moved_by_call(28e3, 166e3, 1e3)
    assert not _core.moved_by_call(28e3, 3e3, 1e3)
    assert not _core.moved_by_call(1.5e3, 3e3, 1e3)  # a launch of little: calls cost that


def test_a_few_discarded_samples_are_left_out_and_many_are_not() -> None:
    """Catches a figure that leaving out samples flatters."""
    good = [(1.0, "")] * 18
    assert _core.settle([*good, (9.0, "gate-opened"), (9.0, "gate-opened")]) == ([1.0] * 18, False)
    late = [(9.0, "gate-opened")] * 3
    assert _core.settle([good[0], *late, *good[1:]]) == ([1.0, 9.0, 9.0, 9.0, *[1.0] * 17], True)


def test_a_short_visit_to_a_second_state_is_told() -> None:
    """Catches an interval of one state alone, or a stop, when the other was seen a few samples long; and
    disturbances here and there that count as a state.
    """
    quiet = noise(4, 200)
    visited, disturbed = quiet.copy(), quiet.copy()
    visited[60:66] *= 1.02
    disturbed[[5, 31, 60, 88, 110, 140]] *= 1.02
    assert found(visited) == ["correlated"] and found(disturbed) == []
    assert _core.summarize(visited.tolist()).ci95[1] > 101.5
    assert _core.summarize(disturbed.tolist()).ci95[1] < 100.5
    assert _core.stop(visited.tolist(), 0.01) == 0 < _core.stop(disturbed.tolist(), 0.01)


GOOD = (110.0, 210.0)  # a fixed cost of 10 ns, and a slope of 100


@pytest.mark.parametrize(
    ("batches", "warm_up", "expected"),
    [
        ([GOOD, GOOD], (), ["", ""]),
        ([GOOD, (206.0, 210.0), GOOD], (), ["", "low-slope", ""]),  # the shorter batch was interrupted
        ([GOOD, (160.0, 210.0), (160.1, 210.0)], (), ["", "", "low-slope"]),  # at the bound, and below
        ([GOOD, (210.0, 210.0), (300.0, 210.0)], (), ["", "no-slope", "no-slope"]),
        ([(206.0, 210.0)], (110.0,), ["low-slope"]),  # warm-up tells how long the shorter batch takes
        ([(206.0, 210.0), GOOD], (), ["", ""]),  # nothing to compare the first with
        ([(110.0, 900.0), GOOD], (), ["", ""]),  # the longer batch was interrupted: an upper bound
        ([GOOD, (220.0, 420.0)], (), ["", ""]),  # a lower clock slows both down
        ([(220.0, 420.0), GOOD, (220.0, 420.0)], (), ["", "", ""]),
    ],
)
def test_a_slope_whose_shorter_batch_was_interrupted(
    batches: list[tuple[float, float]], warm_up: tuple[float, ...], expected: list[str]
) -> None:
    """Catches a round trip of 4 ns between two cores: less than any can take."""
    assert _core.judge_slopes(batches, warm_up) == expected
