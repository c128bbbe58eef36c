"""How often what byteways says of a series of samples is true: intervals, warnings, repeatability.

    python benchmarks/coverage.py [--trials N]

Synthetic series with a known median go through the stopping rule, the interval of the median and the
warnings that every measurement goes through. Aims: the 95 % interval holds the median in 93 to 98 % of the
trials, or at least 95 % of the misses come with a warning; at most 5 % of clean series are warned of.

A series that stays in one state for as long as it is looked at cannot be told from a steady one. That is what
rounds are for: the second table takes three rounds of each series, far apart, and asks how often the
repeatability interval of `byteways.analyse` holds the result of the next run.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from byteways import _core

LENGTH = 400  # samples at most, as in a measurement
PRECISION = 0.01
STEP = 0.005  # of the quantised series
ROUNDS = 3
LIKE_CASES = 12  # whose spread is shared: 24 degrees of freedom
REPEATABILITY = "byteways.analyse.repeatability"

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
    warned: bool


def judge(series: np.ndarray, resolution: float, rounds: int = 1, most: int = LENGTH) -> Judged:
    """Samples until the rule stops, or `most`; then interval and warnings, as in a record."""
    stopped = _core.stop(series.tolist(), PRECISION, rounds, resolution) or LENGTH
    taken = series[: min(stopped, most)].tolist()
    summary = _core.summarize(taken, resolution)
    low, high = summary.ci95
    noisy = (high - low) / 2 > PRECISION * rounds**0.5 * summary.median
    few = len(taken) < 6  # warning few-samples
    warned = few or noisy or bool(_core.series_warnings(taken, resolution))
    return Judged(summary.median, low, high, len(taken), warned)


def one_series(kind: Kind, trials: int, most: int = LENGTH) -> tuple[float, float, float, float]:
    """Shares of intervals that hold the median, of misses that were warned of, of all that were warned of;
    and the samples taken on average.
    """
    rng = np.random.default_rng(20261122)
    made, truth = kind.make(rng, trials)
    found = [judge(series, kind.resolution, most=most) for series in made]
    held = [one.low - 1e-12 <= true <= one.high + 1e-12 for one, true in zip(found, truth, strict=True)]
    misses = [one.warned for one, good in zip(found, held, strict=True) if not good]
    return (
        float(np.mean(held)),
        float(np.mean(misses)) if misses else 1.0,
        float(np.mean([one.warned for one in found])),
        float(np.mean([one.samples for one in found])),
    )


def next_run(kind: Kind, trials: int) -> tuple[float, float]:
    """Share of repeatability intervals, of a run of three rounds, that hold the result of the next run; of
    all, and of those without a warning in any round. Every round is a series of its own.
    """
    repeatability = importlib.import_module(REPEATABILITY)
    rng = np.random.default_rng(20261123)
    held: list[bool] = []
    unwarned: list[bool] = []
    for _ in range(max(1, trials // LIKE_CASES)):
        made, _ = kind.make(rng, 2 * ROUNDS * LIKE_CASES)
        found = [judge(series, kind.resolution, ROUNDS) for series in made]
        runs = [found[k : k + ROUNDS] for k in range(0, len(found), ROUNDS)]
        cases = [
            repeatability.Rounds(
                tuple(one.median for one in run),
                float(np.median([(one.high - one.low) / 3.92 / one.median for one in run])),
                ("like",),
            )
            for run in runs[:LIKE_CASES]
        ]
        spreads = repeatability.spreads(cases)
        for run, after, spread in zip(runs, runs[LIKE_CASES:], spreads, strict=False):
            low, high = spread.interval(float(np.median([one.median for one in run])), ROUNDS)
            held.append(bool(low <= np.median([one.median for one in after]) <= high))
            if not any(one.warned for one in run):
                unwarned.append(held[-1])
    return float(np.mean(held)), float(np.mean(unwarned)) if unwarned else float("nan")


def share(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.1f} %"


def print_table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    print(f"{heads[0]:<26}" + "".join(f"{head:>22}" for head in heads[1:]))
    for row in rows:
        print(f"{row[0]:<26}" + "".join(f"{cell:>22}" for cell in row[1:]))
    print()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials
    failed = []
    rows = []
    for kind, most in [*((kind, LENGTH) for kind in KINDS), (KINDS[1], 3), (KINDS[1], 4)]:
        covered, told, warned, samples = one_series(kind, trials, most)
        name = kind.name if most == LENGTH else f"{kind.name}, n = {most}"
        good = 0.93 <= covered <= 0.98 or told >= 0.95 or (covered > 0.98 and warned > 0.95)
        good = good and (not kind.clean or most < LENGTH or warned <= 0.05)
        failed += [] if good else [name]
        rows.append(
            (name, share(covered), share(told), share(warned), f"{samples:.0f}", "" if good else "MISSED")
        )
    print(f"One series, {trials} trials each, precision {PRECISION:.0%}")
    heads = ("interval holds median", "misses warned of", "all warned of", "samples, mean", "")
    print_table(("series", *heads), rows)
    if importlib.util.find_spec(REPEATABILITY) is not None:
        print(f"{ROUNDS} rounds of {LIKE_CASES} like cases: the repeatability interval holds the next run")
        few = [(kind.name, *map(share, next_run(kind, trials // 2))) for kind in KINDS[:-1]]
        print_table(("series", "all", "without a warning"), few)
    print("missed: " + (", ".join(failed) or "none"))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
