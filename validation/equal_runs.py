"""How often `byteways compare` calls equal cases different: it should in at most one cell of a hundred.

    python validation/equal_runs.py [--suite quick] [--only FILTER] [MODEL ...]

compares each two recorded runs of one machine (examples), and each machine model with itself under another
seed of its noise; all models if none is named. What differs there is a false alarm, but for what changed on
the real machine between two runs. The exit status is 1 if more than MOST of the cells differ, of either kind.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import byteways
from byteways.simulate.library import names

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


def of_a_model(name: str, suite: str, only: Sequence[str]) -> Row:
    """Simulates a model under two seeds and compares the runs."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (
            byteways.measure(
                suite, machine=name, seed=seed, only=only, out=Path(folder) / str(seed), progress=False
            )
            for seed in SEEDS
        )
        return row(name, first, second)


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
    rows = [of_a_model(name, chosen.suite, chosen.only) for name in models]
    good = table("a machine model under two seeds (simulated)", rows) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
