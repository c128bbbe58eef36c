"""Series of samples with a known median, and what a measurement says of each: for coverage.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from byteways import _core

LENGTH = 400  # samples at most, as in a measurement
PRECISION = 0.01
LEAST_FOR_INTERVAL = 6
STEP = 0.005  # of the quantised series
LOWER, UPPER = 1.0, 1.02  # the states of the sticky series
#: Samples of a second state below which a series cannot be told from a steady one with a disturbance or two.
TRACE = 4

Generator = np.random.Generator
Made = tuple[np.ndarray, np.ndarray]  # [trial, sample], and the true median of each trial


@dataclass(frozen=True)
class Kind:
    """One kind of series: its name, what makes so many of them, and what is known of it."""

    name: str
    make: Callable[[Generator, int], Made]
    clean: bool = False
    resolution: float = 0.0
    stay: float = 0.0  # of two states: the probability to stay for one more sample


def normal(rng: Generator, trials: int) -> np.ndarray:
    return rng.normal(0, 1, (trials, LENGTH))


def autoregressive(rng: Generator, trials: int, rho: float) -> np.ndarray:
    """Unit variance, correlation `rho` between neighbours."""
    noise = normal(rng, trials)
    series = np.empty_like(noise)
    series[:, 0] = noise[:, 0]
    for k in range(1, LENGTH):
        series[:, k] = rho * series[:, k - 1] + np.sqrt(1 - rho * rho) * noise[:, k]
    return series


def around_one(series: np.ndarray) -> Made:
    return np.exp(series), np.ones(len(series))


def spiky(rng: Generator, trials: int) -> Made:
    """One sample in twenty is disturbed, by 30 % on average; the median moves by 0.066 deviations."""
    quiet = 1 + 0.005 * normal(rng, trials)
    late = (rng.random(quiet.shape) < 0.05) * rng.exponential(0.3, quiet.shape)
    return quiet + late, np.full(trials, 1 + 0.005 * 0.066)


def sticky(rng: Generator, trials: int, stay: float) -> Made:
    """Two states, equally likely; the median of both together lies in the middle."""
    high = np.empty((trials, LENGTH), bool)
    high[:, 0] = rng.random(trials) < 0.5
    changes = rng.random(high.shape) >= stay
    for k in range(1, LENGTH):
        high[:, k] = high[:, k - 1] ^ changes[:, k]
    states = np.where(high, UPPER, LOWER)
    return states + 0.002 * normal(rng, trials), np.full(trials, (LOWER + UPPER) / 2)


def quantised(rng: Generator, trials: int) -> Made:
    """A timer whose steps are five deviations wide, at any phase."""
    truth = 1 + STEP * rng.random(trials)
    return np.round((truth[:, None] + 0.001 * normal(rng, trials)) / STEP) * STEP, truth


def drifting(rng: Generator, trials: int) -> Made:
    """1 % over 30 samples: what its median is depends on when one stops, so every one is to be warned of."""
    return 1 + 0.01 * np.arange(LENGTH) / 30 + 0.001 * normal(rng, trials), np.zeros(trials)


KINDS = (
    Kind("normal 0.1 %", lambda rng, n: around_one(0.001 * normal(rng, n)), clean=True),
    Kind("normal 1 %", lambda rng, n: around_one(0.01 * normal(rng, n)), clean=True),
    Kind("normal 3 %", lambda rng, n: (1 + 0.03 * normal(rng, n), np.ones(n)), clean=True),
    Kind("lognormal 3 %", lambda rng, n: around_one(0.03 * normal(rng, n)), clean=True),
    Kind("spikes", spiky, clean=True),
    Kind("AR(1) 0.5, 1 %", lambda rng, n: around_one(0.01 * autoregressive(rng, n, 0.5))),
    Kind("AR(1) 0.7, 1 %", lambda rng, n: around_one(0.01 * autoregressive(rng, n, 0.7))),
    Kind("AR(1) 0.95, 0.5 %", lambda rng, n: around_one(0.005 * autoregressive(rng, n, 0.95))),
    Kind(
        "white 1 % + AR 0.95 1 %",
        lambda rng, n: around_one(0.01 * (normal(rng, n) + autoregressive(rng, n, 0.95))),
    ),
    Kind("sticky, stays 0.9", lambda rng, n: sticky(rng, n, 0.9), stay=0.9),
    Kind("sticky, stays 0.95", lambda rng, n: sticky(rng, n, 0.95), stay=0.95),
    Kind("sticky, stays 0.98", lambda rng, n: sticky(rng, n, 0.98), stay=0.98),
    Kind("sticky, stays 0.99", lambda rng, n: sticky(rng, n, 0.99), stay=0.99),
    Kind("quantised 0.5 %", quantised, resolution=STEP),
    Kind("drift 1 % in 30", drifting),
)


@dataclass(frozen=True)
class Judged:
    """One series as a measurement would report it."""

    median: float
    low: float
    high: float
    samples: int
    warnings: tuple[str, ...]
    upper: int = 0  # samples in the upper state of a sticky series

    @property
    def warned(self) -> bool:
        return bool(self.warnings)


def no_trace(rounds: Sequence[Judged]) -> bool:
    """Whether one of two states was seen in next to no sample of all rounds."""
    upper = sum(one.upper for one in rounds)
    return min(upper, sum(one.samples for one in rounds) - upper) < TRACE


def chance_of_no_trace(samples: Sequence[int], stay: float) -> float:
    """The probability of that for independent rounds of so many samples (seven and more in all), by the
    two-state Markov chain.
    """
    together = np.ones(1)  # by the number of samples in the upper state, those below TRACE
    for count in samples:
        # chance[state, upper]: of each start, the chain goes from state to state.
        chance = np.zeros((2, TRACE))
        chance[0, 0] = chance[1, 1] = 0.5
        for _ in range(count - 1):
            lower = stay * chance[0] + (1 - stay) * chance[1]
            upper = stay * chance[1] + (1 - stay) * chance[0]
            chance = np.array([lower, np.concatenate(([0.0], upper[:-1]))])
        together = np.convolve(together, chance.sum(axis=0))[:TRACE]
    return float(2 * together.sum())  # both states are alike


def judge(series: np.ndarray, resolution: float, rounds: int = 1, most: int = LENGTH) -> Judged:
    """Samples until the rule stops, or `most`; then interval and warnings, as in a record."""
    stopped = _core.stop(series.tolist(), PRECISION, rounds, resolution) or LENGTH
    taken = series[: min(stopped, most)].tolist()
    summary = _core.summarize(taken, resolution)
    low, high = summary.ci95
    noisy = (high - low) / 2 > PRECISION * rounds**0.5 * summary.median
    told = [warning.id for warning in _core.series_warnings(taken, resolution)]
    told += ["noisy"] if noisy else []
    told += ["few-samples"] if len(taken) < LEAST_FOR_INTERVAL else []
    upper = int(np.sum(np.array(taken) > (LOWER + UPPER) / 2))
    return Judged(summary.median, low, high, len(taken), tuple(told), upper)
