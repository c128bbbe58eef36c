"""Runs of three rounds, and what the analysis of byteways says of them: for coverage.py.

Rounds become records, records a run, and `byteways.explain` judges it as it does a run from disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from byteways import _core
from byteways.explain.best.ranking import rank
from byteways.explain.results.index import Index
from byteways.explain.results.rounds import NORMAL_95
from byteways.explain.results.summary import Result, group_by
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from byteways.record.times import Times
from byteways.record.warnings import Warning
from byteways.topology.model import Topology
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


Noise = tuple[np.ndarray, np.ndarray]  # of each case: deviation between rounds, standard error within one


def recorded_noise(folders: Iterable[Path]) -> Noise:
    """Of all results of 16 MiB and more in these runs that were measured in three rounds."""
    cells = [
        cell
        for folder in folders
        for cell in Index(RunFolder(folder)).ranked
        if cell.record.size_bytes >= LARGE_BYTES and cell.record.time_ns
    ]
    times = [[one.time_ns for one in cell.records if one.time_ns] for cell in cells]
    between = [np.std(np.log([one.median for one in rounds]), ddof=1) for rounds in times]
    within = [
        np.mean([np.log(one.ci95[1] / one.ci95[0]) / 2 / NORMAL_95 for one in rounds]) for rounds in times
    ]
    return np.array(between), np.array(within)


def told_apart(rng: Generator, ways: int, paths: Sequence[str], noise: Noise) -> tuple[list[bool], bool]:
    """Whether any of so many equal ways is called better or worse than the best one in a run: on each path,
    and over all paths together.
    """
    between, within = noise
    drawn = rng.integers(len(between), size=(len(paths), ways))
    medians = np.exp(between[drawn][..., None] * rng.normal(size=(*drawn.shape, ROUNDS)))
    width = np.exp(NORMAL_95 * within[drawn])
    cells = analysed(
        (path, WAYS[way], [Judged(t, t / width[p, way], t * width[p, way], 30, ()) for t in medians[p, way]])
        for p, path in enumerate(paths)
        for way in range(ways)
    )
    each = [differ(same) for same in group_by(cells, lambda cell: cell.record.path).values()]
    return each, differ(cells)


def differ(cells: Sequence[Result]) -> bool:
    """Whether any way is called better or worse than the best one."""
    ranking = rank(cells)
    return ranking is not None and any(one.claim.leads or one.claim.trails for one in ranking.rivals)
