"""Series of samples with a known median, and what a measurement says of each: for coverage.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from byteways import _core

LENGTH = 400  # samples at most, as in a measurement
PRECISION = 0.01
LEAST_FOR_INTERVAL = 6
STEP = 0.005  # of the quantised series

Generator = np.random.Generator
Made = tuple[np.ndarray, np.ndarray]  # [trial, sample], and the true median of each trial


@dataclass(frozen=True)
class Kind:
    """One kind of series: its name, what makes so many of them, and what is known of it."""

    name: str
    make: Callable[[Generator, int], Made]
    clean: bool = False
    resolution: float = 0.0


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
    """Two states 2 % apart, equally likely; the median of both together lies in the middle."""
    high = np.empty((trials, LENGTH), bool)
    high[:, 0] = rng.random(trials) < 0.5
    changes = rng.random(high.shape) >= stay
    for k in range(1, LENGTH):
        high[:, k] = high[:, k - 1] ^ changes[:, k]
    return 1 + 0.02 * high + 0.002 * normal(rng, trials), np.full(trials, 1.01)


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
    Kind("sticky, stays 0.9", lambda rng, n: sticky(rng, n, 0.9)),
    Kind("sticky, stays 0.95", lambda rng, n: sticky(rng, n, 0.95)),
    Kind("sticky, stays 0.98", lambda rng, n: sticky(rng, n, 0.98)),
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

    @property
    def warned(self) -> bool:
        return bool(self.warnings)


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
    return Judged(summary.median, low, high, len(taken), tuple(told))
