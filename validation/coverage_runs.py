"""Runs of three rounds, and what the analysis of byteways says of them: for coverage.py.

Rounds become records, records a run, and `byteways.questions` judges it as it does a run from disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from byteways import _core
from byteways.answers.best.ranking import rank
from byteways.answers.claims.compare import compare
from byteways.answers.results.index import Index
from byteways.answers.results.rounds import NORMAL_95
from byteways.answers.results.summary import Result, group_by, pool
from byteways.machine.model import Topology
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from byteways.record.times import Times
from byteways.record.warnings import Warning
from coverage_series import Generator, Judged, Kind, judge, no_trace

ROUNDS = 3
SIZE_BYTES = 2**30
LARGE_BYTES = 16 * 2**20
#: Between four GPUs: like cases, whose spread is shared.
PATHS = tuple(f"gpu{a}>gpu{b}" for a, b in permutations(range(4), 2))
WAYS = ("copy", "kernel", "kernel-bulk", "torch-copy", "memcpy", "memcpy-mt")


@dataclass(frozen=True)
class MadeUp:
    """A run that never was on disk."""

    records: Sequence[Record]
    manifest: dict[str, Any] = field(default_factory=dict)
    topology: Topology = field(default_factory=lambda: Topology("host", (), ()))
    damaged_lines: int = 0


def record(path: str, interface: str, number: int, one: Judged) -> Record:
    """What a measurement of these samples writes; their unit is a tenth of a second."""
    scale = 1e8
    low, middle, high = one.low * scale, one.median * scale, one.high * scale
    source, destination = path.split(">")
    return Record(
        case_id=f"{interface} {path}",
        round=number,
        sweep="coverage",
        category="copy",
        interface=interface,
        executor=source,
        access="write",
        pattern="unidirectional",
        path=path,
        source=f"{source}:device",
        destination=f"{destination}:device",
        flows=[],
        size_bytes=SIZE_BYTES,
        cache="cold",
        options={},
        environment={},
        status="measured",
        reason=None,
        method_version=_core.METHOD_VERSION,
        time_ns=Times(middle, (low, high), low, high, middle, 0.0, one.samples),
        bandwidth_bytes_per_s=SIZE_BYTES / middle * 1e9,
        counts="per-direction",
        warnings=[Warning(id, None, None, "") for id in one.warnings],
    )


def analysed(cases: Iterable[tuple[str, str, Sequence[Judged]]]) -> Sequence[Result]:
    """The cells of a run of these cases (path, interface, rounds), in their order."""
    return Index(
        MadeUp(
            [
                record(path, interface, number, one)
                for path, interface, rounds in cases
                for number, one in enumerate(rounds)
            ]
        )
    ).ranked


@dataclass
class Told:
    """Of the results of many runs: what came true."""

    of_median: list[bool] = field(default_factory=list)
    of_next: list[bool] = field(default_factory=list)
    warned: list[bool] = field(default_factory=list)
    #: Whether the samples of a sticky series have no trace of its second state.
    blind: list[bool] = field(default_factory=list)
    #: Of these, the samples of each round.
    blind_samples: list[int] = field(default_factory=list)

    def add(self, cell: Result, truth: float, after: Result, rounds: Sequence[Judged], kind: Kind) -> None:
        least = 1e-9 * cell.value
        true_value = SIZE_BYTES / truth * 10
        self.of_median.append(cell.low - least <= true_value <= cell.high + least)
        self.of_next.append(cell.low - least <= after.value <= cell.high + least)
        self.warned.append(bool(cell.warning_ids))
        self.blind.append(kind.stay > 0 and no_trace(rounds))
        if self.blind[-1]:
            self.blind_samples += [one.samples for one in rounds]

    @property
    def misses_warned(self) -> float:
        """Share of the intervals beside the median that came with a warning."""
        misses = [warned for warned, held in zip(self.warned, self.of_median, strict=True) if not held]
        return float(np.mean(misses)) if misses else 1.0

    @property
    def unwarned(self) -> list[bool]:
        """Of results without a warning, but for those that are blind: whether the interval holds the next
        run's.
        """
        told = zip(self.of_next, self.warned, self.blind, strict=True)
        return [held for held, warned, blind in told if not warned and not blind]


def next_runs(kind: Kind, trials: int, among: Kind | None = None) -> Told:
    """So many results of three rounds each, every round a series of its own, and those of the next run.

    The cases on all paths are of this kind; or the first alone is, and the others are like `among`.
    """
    rng = np.random.default_rng(20261123)
    told = Told()
    alone = among is not None
    while len(told.warned) < trials:
        here = len(PATHS) if not alone else 1
        made, truth = kind.make(rng, 2 * ROUNDS * here)
        rounds = [judge(series, kind.resolution, ROUNDS) for series in made]
        if among is not None:
            made, _ = among.make(rng, 2 * ROUNDS * (len(PATHS) - 1))
            rounds += [judge(series, among.resolution, ROUNDS) for series in made]
        cases = [rounds[k : k + ROUNDS] for k in range(0, len(rounds), ROUNDS)]
        runs = cases[0::2], cases[1::2]
        first, second = (
            analysed((path, "copy", case) for path, case in zip(PATHS, run, strict=True)) for run in runs
        )
        for number in range(here):
            true_time = float(truth[2 * ROUNDS * number])
            told.add(first[number], true_time, second[number], cases[2 * number], kind)
    return told


#: Makes the rounds of so many like cases.
Noise = Callable[[Generator, int], list[list[Judged]]]
#: A sample interval that is narrower than the scatter between rounds.
NARROW = 0.001


def recorded_noise(folders: Iterable[Path]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the deviation between rounds and the standard error within one, of all results of 16 MiB and
    more in these runs that were measured in three rounds.
    """
    results = [
        cell
        for folder in folders
        for cell in Index(RunFolder(folder)).ranked
        if cell.record.size_bytes >= LARGE_BYTES and cell.record.time_ns
    ]
    times = [[one.time_ns for one in cell.records if one.time_ns] for cell in results]
    between = [np.std(np.log([one.median for one in rounds]), ddof=1) for rounds in times]
    within = [
        np.mean([np.log(one.ci95[1] / one.ci95[0]) / 2 / NORMAL_95 for one in rounds]) for rounds in times
    ]
    return np.array(between), np.array(within)


def normal_rounds(between: np.ndarray, within: np.ndarray) -> Noise:
    """Returns rounds that are normal, with a deviation and a standard error drawn for each case."""

    def made(rng: Generator, cases: int) -> list[list[Judged]]:
        drawn = rng.integers(len(between), size=cases)
        medians = np.exp(between[drawn][:, None] * rng.normal(size=(cases, ROUNDS)))
        widths = np.exp(NORMAL_95 * within[drawn])
        return [
            [Judged(t, t / width, t * width, 30, ()) for t in row]
            for row, width in zip(medians.tolist(), widths.tolist(), strict=True)
        ]

    return made


def two_state_rounds(rng: Generator, cases: int) -> list[list[Judged]]:
    """Makes rounds in one of two equally likely states, 8 % apart, that vary by 0.2 %."""
    states = 1 + 0.08 * (rng.random((cases, ROUNDS)) < 0.5)
    medians = states * np.exp(0.002 * rng.normal(size=states.shape))
    return [[Judged(t, t * (1 - NARROW), t * (1 + NARROW), 30, ()) for t in row] for row in medians.tolist()]


def of_series(kind: Kind) -> Noise:
    """Returns rounds of which each is a series of samples of its own."""

    def made(rng: Generator, cases: int) -> list[list[Judged]]:
        series, _ = kind.make(rng, cases * ROUNDS)
        judged = [judge(samples, kind.resolution, ROUNDS) for samples in series]
        return [judged[k : k + ROUNDS] for k in range(0, len(judged), ROUNDS)]

    return made


def run_of(
    noise: Noise, rng: Generator, methods: int, paths: Sequence[str], slower: float = 0.0
) -> Sequence[Result]:
    """Returns the results of a run of methods that are equal, but for the first, the others of which are
    slower by this fraction.
    """
    cases = [(path, WAYS[method], method) for path in paths for method in range(methods)]
    return analysed(
        (path, interface, [scaled(one, 1 + slower * bool(method)) for one in rounds])
        for (path, interface, method), rounds in zip(cases, noise(rng, len(cases)), strict=True)
    )


def scaled(one: Judged, factor: float) -> Judged:
    return replace(one, median=one.median * factor, low=one.low * factor, high=one.high * factor)


def told_apart(rng: Generator, methods: int, paths: Sequence[str], noise: Noise) -> tuple[list[bool], bool]:
    """Whether any of so many equal methods is called better or worse than the best one in a run: on each
    path, and over all paths together.
    """
    results = run_of(noise, rng, methods, paths)
    each = [differ(same) for same in group_by(results, lambda cell: cell.record.path).values()]
    return each, differ(results)


def differ(results: Sequence[Result]) -> bool:
    """Whether any method is called better or worse than the best one."""
    ranking = rank(results)
    return ranking is not None and any(one.claim.leads or one.claim.trails for one in ranking.rivals)


def is_found(rng: Generator, methods: int, paths: Sequence[str], noise: Noise, slower: float) -> bool:
    """Whether the first method is called faster than the second where it is, over all paths together."""
    results = group_by(run_of(noise, rng, methods, paths, slower), lambda cell: cell.record.interface)
    return compare(pool(results[WAYS[0]]), pool(results[WAYS[1]]), ways=methods).leads


@dataclass(frozen=True)
class Repeated:
    """Of runs of one suite on one machine: half-widths of intervals over the true scatter between runs."""

    ratios: np.ndarray  # by case
    held: float  # share of the results of the other runs within the interval


def repeated(folders: Sequence[Path]) -> Repeated:
    """Compares the intervals of repeated runs with how much the results of all runs scatter.

    The half of a 95 % interval for another run's result should be 1.96 times the square root of 2 times the
    standard deviation between runs.
    """
    runs = [{cell.record.case_id: cell for cell in Index(RunFolder(folder)).ranked} for folder in folders]
    ratios, held = [], []
    for case in set.intersection(*map(set, runs)):
        results = [run[case] for run in runs]
        scatter = np.std(np.log([cell.value for cell in results]), ddof=1)
        halves = [np.log(cell.high / cell.low) / 2 for cell in results]
        ratios.append(np.median(halves) / (NORMAL_95 * 2**0.5 * scatter) if scatter else np.inf)
        held += [
            one.low <= other.value <= one.high for one in results for other in results if one is not other
        ]
    return Repeated(np.array(ratios), float(np.mean(held)))
