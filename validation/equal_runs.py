"""Verdicts on runs whose truth is known, and how often `byteways compare` calls equal cases different.

    python validation/equal_runs.py [--suite quick] [--only FILTER] [MODEL ...]

compares each two recorded runs of one machine (examples), and each machine model with itself under another
seed of its noise; all models if none is named. What differs there is a false alarm, but for what changed on
the real machine between two runs. At most one cell of a hundred should.

`byteways check` must PASS the run under another seed, and a recorded run whose rounds came in another order.
It must FAIL the same a tenth slower everywhere, and each judged case of it five times slower.

The exit status is 1 if more than MOST of the cells differ, of either kind, or if a verdict is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

import byteways
from byteways.answers.results.index import Index
from byteways.answers.results.summary import RecordedRun
from byteways.machine.model import Topology
from byteways.models.library import names
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from byteways.verdicts.checks.check import Check, CheckQuestion, checked
from byteways.verdicts.checks.verdict import FAIL, PASS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from unpack_examples import EXAMPLES, unpack

#: Fraction of the compared cells that may differ.
MOST = 0.01
SEEDS = (1, 2)


@dataclass(frozen=True)
class Row:
    """Two runs that should be equal."""

    name: str
    compared: int
    different: int


def row(name: str, first: byteways.Run, second: byteways.Run) -> Row:
    """Compares two runs. Raises BytewaysError if no case of them can be compared."""
    found = byteways.compare(first, second)
    return Row(name, len(found.pairs), len(found.slower) + len(found.faster))


def of_one_machine(folders: Iterable[Path]) -> Iterator[Row]:
    """Yields each two runs whose GPUs are the same, and which have cases that can be compared."""
    runs = [(str(folder.relative_to(EXAMPLES)), byteways.load(folder)) for folder in folders]
    for (one, first), (two, second) in itertools.combinations(runs, 2):
        if _gpus(first) != _gpus(second):
            continue
        try:
            yield row(f"{one} and {two}", first, second)
        except byteways.BytewaysError:  # no case in common, or fewer than three rounds
            continue


def _gpus(run: byteways.Run) -> list[str | None]:
    return sorted(device.uuid for device in run.topology.devices if device.uuid)


def of_a_model(name: str, suite: str, only: Sequence[str]) -> tuple[Row, list[str]]:
    """Simulates a model under two seeds; returns how the runs compare, and the wrong verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (
            byteways.measure(
                suite, machine=name, seed=seed, only=only, out=Path(folder) / str(seed), progress=False
            )
            for seed in SEEDS
        )
        wrong = wrong_verdicts(RunFolder(first.path), RunFolder(second.path))
        return row(name, first, second), wrong


@dataclass(frozen=True)
class ChangedRun:
    """A run with other records."""

    manifest: Mapping[str, Any]
    topology: Topology
    records: Sequence[Record]
    damaged_lines: int = 0


def slower(run: RecordedRun, speed: float) -> ChangedRun:
    """Returns a run as if all of it had this part of its speed, with the same noise."""
    return _changed(run, [_slower(record, speed) for record in run.records])


def reordered(run: RecordedRun) -> ChangedRun:
    """Returns a run whose rounds came in the opposite order."""
    last = max(record.round for record in run.records)
    return _changed(run, [structs.replace(record, round=last - record.round) for record in run.records])


def _changed(run: RecordedRun, records: Sequence[Record]) -> ChangedRun:
    return ChangedRun({**run.manifest, "run_id": "changed"}, run.topology, records)


def _slower(record: Record, speed: float) -> Record:
    rate, latency, times = record.bandwidth_bytes_per_s, record.latency_ns, record.time_ns
    if times is not None:
        low, high = times.ci95
        times = replace(times, median=times.median / speed, ci95=(low / speed, high / speed))
    return structs.replace(
        record,
        bandwidth_bytes_per_s=None if rate is None else rate * speed,
        latency_ns=None if latency is None else latency / speed,
        time_ns=times,
    )


def wrong_verdicts(reference: RecordedRun, other: RecordedRun) -> list[str]:
    """Checks an equal run, and the same slower, against a run; returns the verdicts that are wrong."""

    def verdict(run: RecordedRun) -> Check:
        return checked(run, "run", CheckQuestion("run", "reference"), reference)

    tenth, fifth = verdict(slower(other, 0.9)), verdict(slower(other, 0.2))
    found = [("equal", PASS, verdict(other).verdict), ("a tenth slower", FAIL, tenth.verdict)]
    found += [(f"a fifth as fast: {one.case}", FAIL, one.verdict) for one in fifth.cases if one.claim]
    return [f"{what}: {told} instead of {right}" for what, right, told in found if told != right]


def judged(folder: Path) -> bool:
    """Whether a recorded run has cases that can be judged: early ones have a single round."""
    return any(cell.ranked for cell in Index(RunFolder(folder)).cells)


def wrong_in_recorded(folder: Path) -> list[str]:
    """Returns the wrong verdicts on a recorded run whose rounds came in another order."""
    run = RunFolder(folder)
    return wrong_verdicts(run, reordered(run))


def report(name: str, wrong: Sequence[str]) -> bool:
    """Prints the wrong verdicts of a run; returns whether there are none."""
    print("\n    ".join([f"{name}: {len(wrong) or 'no'} wrong verdicts", *wrong]))
    return not wrong


def table(title: str, rows: Sequence[Row]) -> bool:
    """Prints rows with their total; returns whether few enough differ."""
    total = Row("all", sum(one.compared for one in rows), sum(one.different for one in rows))
    print(f"{title}\n{'compared':>10}{'different':>11}{'percent':>9}")
    for one in (*rows, total):
        percent = 100 * one.different / max(one.compared, 1)
        print(f"{one.compared:>10}{one.different:>11}{percent:>9.2f}  {one.name}")
    return total.different <= MOST * total.compared


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How often equal cases are called different.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="machine models; all if none is named")
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--only", action="append", default=[])
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore", byteways.RunWarning)  # recorded runs that were cut short
    unpack()
    folders = sorted(manifest.parent for manifest in EXAMPLES.rglob("run.json"))
    good = table("two recorded runs of one machine", [*of_one_machine(folders)])
    models = chosen.models or names()
    of_models = {name: of_a_model(name, chosen.suite, chosen.only) for name in models}
    rows = [one for one, _ in of_models.values()]
    good = table("a machine model under two seeds (simulated)", rows) and good
    verdicts = {name: wrong for name, (_, wrong) in of_models.items()}
    verdicts |= {str(one.relative_to(EXAMPLES)): wrong_in_recorded(one) for one in filter(judged, folders)}
    for name, wrong in verdicts.items():
        good = report(name, wrong) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
