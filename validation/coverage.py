"""How often what byteways says of samples, results and equal ways is true.

    python validation/coverage.py [--trials N] [--repeated RUN RUN …]

Five tables, of the project's own functions alone (five minutes with 1,000 trials):

1. Series with a known median go through the stopping rule, the interval of the median and the warnings that
   every measurement goes through. Aims: the 95 % interval holds the median in 93 to 98 % of the trials, or at
   least 95 % of the misses come with a warning; at most 5 % of clean series are warned of.
2. Runs of three rounds, each a series of its own, go through records and `byteways.questions`, as users get
   them. Aims: the repeatability interval holds the median and the result of the next run in 93 % and more, or
   95 % of the misses come with a warning in some round; of results without a warning it holds that of the
   next run in 90 % and more.
3. Runs of two to six equal methods, with the noise of the runs in examples/ and with made-up noise, are
   ranked. Aim: in at most 5 % is any method called better or worse than another.
4. A method that is 5 % faster than one to five others on 12 paths is compared with one of them. Aims: found
   in 90 % of the runs whose rounds vary by 3 %, in 60 % of those of dependent or drifting samples.
5. What cannot be known: a series that stays in one of two states for all its samples but three looks like a
   steady one with a disturbance or two. Counted, and beside it the probability of that by the Markov chain
   that made the series. Such results count in tables 1 and 2 as all others do, but for the last column of
   table 2: the next run may be in the other state, of which this one has no trace.

Every aim holds within two standard errors of so many trials. With `--repeated`, another table compares the
intervals of runs of one suite on one machine with the scatter between them. Aim: half of the cases have an
interval of at most 1.5 times the width that the scatter asks for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coverage_runs import (
    PATHS,
    ROUNDS,
    WAYS,
    Noise,
    Told,
    is_found,
    next_runs,
    normal_rounds,
    of_series,
    recorded_noise,
    repeated,
    told_apart,
    two_state_rounds,
)
from coverage_series import (
    KINDS,
    LENGTH,
    Judged,
    Kind,
    around_one,
    autoregressive,
    chance_of_no_trace,
    judge,
    no_trace,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from unpack_examples import EXAMPLES, unpack

LEAST_TOLD = 30  # results without a warning, from which on their share says something
ERRORS = 2.0  # standard errors that a share may lie beyond its aim

LEAD = 0.05  # of the faster method
WIDEST = 1.5  # median over cases of the width of the interval over that of the scatter between runs

ONE_PERCENT = normal_rounds(np.full(1, 0.01), np.full(1, 0.003))
THREE_PERCENT = normal_rounds(np.full(1, 0.03), np.full(1, 0.01))
STICKIEST = max(KINDS, key=lambda kind: kind.stay)
AR = Kind("AR(1) 0.9, 1 %", lambda rng, n: around_one(0.01 * autoregressive(rng, n, 0.9)))

Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class OfSeries:
    """What came true of many series of one kind."""

    covered: float  # share of intervals that hold the median
    seen: float  # the same of those with a trace of the second state
    misses_warned: float
    warned: float
    samples: float  # taken on average
    blind: float  # share without a trace of a second state
    blind_samples: float  # taken of these on average


def one_series(kind: Kind, trials: int, most: int = LENGTH) -> OfSeries:
    rng = np.random.default_rng(20261122)
    made, truth = kind.make(rng, trials)
    found = [judge(series, kind.resolution, most=most) for series in made]
    held = [one.low - 1e-12 <= true <= one.high + 1e-12 for one, true in zip(found, truth, strict=True)]
    misses = [one.warned for one, good in zip(found, held, strict=True) if not good]
    blind = [one for one in found if kind.stay and no_trace([one])]
    return OfSeries(
        float(np.mean(held)),
        float(np.mean([good for one, good in zip(found, held, strict=True) if one not in blind])),
        float(np.mean(misses)) if misses else 1.0,
        float(np.mean([one.warned for one in found])),
        mean_samples(found),
        len(blind) / trials,
        mean_samples(blind),
    )


def mean_samples(found: Sequence[Judged]) -> float:
    return float(np.mean([one.samples for one in found])) if found else 0.0


def at_least(found: float, aim: float, trials: int) -> bool:
    """Whether so many trials bear out a share of `aim` or more."""
    return found >= aim - ERRORS * (aim * (1 - aim) / max(trials, 1)) ** 0.5


def at_most(found: float, aim: float, trials: int) -> bool:
    return at_least(1 - found, 1 - aim, trials)


def share(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.1f} %"


def print_table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    print(f"{heads[0]:<32}" + "".join(f"{head:>22}" for head in heads[1:]))
    for row in rows:
        print(f"{row[0]:<32}" + "".join(f"{cell:>22}" for cell in row[1:]))
    print()


def verdict(good: bool) -> str:
    return "" if good else "MISSED"


def series_table(results: Mapping[tuple[Kind, int], OfSeries], trials: int) -> Rows:
    """One series a trial."""
    rows = []
    for (kind, most), one in results.items():
        name = kind.name if most == LENGTH else f"{kind.name}, n = {most}"
        within = at_least(one.seen, 0.93, trials) and at_most(one.covered, 0.98, trials)
        good = within or one.misses_warned >= 0.95 or (one.covered > 0.98 and one.warned > 0.95)
        good = good and (not kind.clean or most < LENGTH or at_most(one.warned, 0.05, trials))
        figures = one.covered, one.misses_warned, one.warned
        rows.append((name, *map(share, figures), f"{one.samples:.0f}", verdict(good)))
    return rows


def runs_table(results: Mapping[tuple[Kind, Kind | None], Told]) -> Rows:
    """One result of three rounds a trial."""
    rows = []
    for (kind, among), told in results.items():
        trials, unwarned = len(told.warned), told.unwarned
        covered = float(np.mean(told.of_median))
        enough = len(unwarned) >= LEAST_TOLD
        next_held = float(np.mean(unwarned)) if enough else 1.0
        good = at_least(covered, 0.93, trials) or told.misses_warned >= 0.95
        good = good and at_least(next_held, 0.9, len(unwarned))
        any_next = float(np.mean(told.of_next))
        good = good and at_least(any_next, 0.93 if among is None else 0.9, trials)
        figures = covered, told.misses_warned, float(np.mean(told.warned)), any_next
        rows.append(
            (
                kind.name if among is None else f"{kind.name}, 1 of 12",
                *map(share, figures),
                share(next_held) if enough else "-",
                verdict(good),
            )
        )
    return rows


def blind_table(
    series: Mapping[tuple[Kind, int], OfSeries], runs: Mapping[tuple[Kind, Kind | None], Told]
) -> Rows:
    """Series and results without a trace of their second state: how many there are, and how many there must
    be of as many samples.
    """
    rows = []
    for (kind, _), one in series.items():
        if kind.stay and one.blind:
            chance = chance_of_no_trace([round(one.blind_samples)], kind.stay)
            rows.append(
                (f"{kind.name}, 1 round", f"{one.blind_samples:.0f}", share(one.blind), share(chance))
            )
    for (kind, among), told in runs.items():
        if among is None and any(told.blind):
            samples = round(float(np.mean(told.blind_samples)))
            chance = chance_of_no_trace([samples] * ROUNDS, kind.stay)
            blind = float(np.mean(told.blind))
            rows.append((f"{kind.name}, {ROUNDS} rounds", str(samples), share(blind), share(chance)))
    return rows


def ways_table(trials: int) -> Rows:
    """One ranking a trial: of a path measured alone, of a path among others; of all paths, one a run."""
    unpack()
    between, within = recorded_noise(run.parent for run in sorted(EXAMPLES.glob("**/run.json")))
    rng = np.random.default_rng(20261124)
    drawn = np.exp(rng.normal(np.log(0.01), 1.0, 1000))
    noises = {
        f"recorded ({len(between)} results)": normal_rounds(between, within),
        "recorded, ten times": normal_rounds(10 * between, 10 * within),
        "1 % between rounds": ONE_PERCENT,
        "0.1 to 10 %, uneven": normal_rounds(drawn, 0.3 * drawn),
        "two states, 8 %": two_state_rounds,
        STICKIEST.name: of_series(STICKIEST),
    }
    rows = []
    for name, noise in noises.items():
        alone: list[float] = []
        among: list[float] = []
        together: list[float] = []
        for ways in range(2, len(WAYS) + 1):
            runs = [told_apart(rng, ways, PATHS, noise) for _ in range(-(-trials // len(PATHS)))]
            among.append(float(np.mean([told for each, _ in runs for told in each])))
            together.append(float(np.mean([all_paths for _, all_paths in runs])))
            alone.append(float(np.mean([told_apart(rng, ways, PATHS[:1], noise)[1] for _ in range(trials)])))
        for where, shares in (("1 path", alone), ("1 of 12", among), ("all 12", together)):
            rows.append(
                (f"{name}, {where}", *map(share, shares), verdict(at_most(max(shares), 0.05, trials)))
            )
    return rows


def power_table(trials: int) -> Rows:
    """One run a trial."""
    drift = next(kind for kind in KINDS if kind.name.startswith("drift"))
    noises: dict[str, tuple[Noise, float]] = {
        "1 % between rounds": (ONE_PERCENT, 0.9),
        "3 % between rounds": (THREE_PERCENT, 0.9),
        "AR(1) 0.9, 1 %": (of_series(AR), 0.6),
        drift.name: (of_series(drift), 0.6),
        "two states, 8 %": (two_state_rounds, 0.6),
        STICKIEST.name: (of_series(STICKIEST), 0.6),
    }
    rng = np.random.default_rng(20261125)
    rows = []
    for name, (noise, aim) in noises.items():
        some = max(trials // 5, 1)
        shares = [
            float(np.mean([is_found(rng, methods, PATHS, noise, LEAD) for _ in range(some)]))
            for methods in (2, len(WAYS))
        ]
        rows.append((name, *map(share, shares), verdict(at_least(min(shares), aim, some))))
    return rows


def repeated_table(folders: Sequence[Path]) -> Rows:
    found = repeated(folders)
    middle = float(np.median(found.ratios))
    low, high = np.quantile(found.ratios, (0.1, 0.9))
    good = middle <= WIDEST
    figures = f"{middle:.2f}", f"{low:.2f} to {high:.2f}", share(found.held), verdict(good)
    return [(f"{len(found.ratios)} cases, {len(folders)} runs", *figures)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--repeated", type=Path, nargs="+", default=[], metavar="RUN")
    chosen = parser.parse_args()
    trials = chosen.trials
    heads: tuple[str, ...] = "holds median", "misses warned of", "all warned of", "samples, mean", ""
    kinds = [*((kind, LENGTH) for kind in KINDS), (KINDS[1], 3), (KINDS[1], 4)]
    of_series = {(kind, most): one_series(kind, trials, most) for kind, most in kinds}
    series = series_table(of_series, trials)
    print(f"1. One series, {trials} trials each, precision 1 %")
    print_table(("series", *heads), series)
    steady = [kind for kind in KINDS if kind.name != "drift 1 % in 30"]
    of_runs: dict[tuple[Kind, Kind | None], Told] = {(kind, None): next_runs(kind, trials) for kind in steady}
    of_runs[STICKIEST, KINDS[0]] = next_runs(STICKIEST, trials // 4, KINDS[0])
    runs = runs_table(of_runs)
    print(f"2. {ROUNDS} rounds of {len(PATHS)} like cases, {trials} trials each: the repeatability interval")
    heads = "holds median", "misses warned of", "all warned of", "holds next", "holds next, unwarned", ""
    print_table(("series", *heads), runs)
    ways = ways_table(trials)
    print(f"3. Equal methods called different, {trials} trials each")
    print_table(("noise of a round, paths", *(f"{n} methods" for n in range(2, len(WAYS) + 1)), ""), ways)
    power = power_table(trials)
    print(f"4. A lead of {100 * LEAD:.0f} % over {len(PATHS)} paths that is found, {trials // 5} trials each")
    print_table(("noise of a round", "2 methods", f"{len(WAYS)} methods", ""), power)
    wide = repeated_table(chosen.repeated) if chosen.repeated else []
    if wide:
        print("Repeated runs of one machine: half of the interval over that of the scatter between runs")
        print_table(("", "median", "80 % of cases", "holds other runs", ""), wide)
    print("5. Without a trace of the second state: what no test of the samples can tell")
    print_table(
        ("series", "samples of a round", "counted", "by probability"), blind_table(of_series, of_runs)
    )
    missed = [row[0] for row in (*series, *runs, *ways, *power, *wide) if row[-1] == "MISSED"]
    print("missed: " + (", ".join(missed) or "none"))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
