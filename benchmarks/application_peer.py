"""What halo_peer.py and particles_peer.py share: a pattern between two ranks and a plain C loop, in turns.

The loop computes the same, packs the same messages and makes the same calls of MPI on the same cores, so that
the ratio of both times is byteways' own work in an iteration.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from peer_runs import Key, environment, find_launcher, in_turns, launched, own_records, pairs_of

SECONDS = 0.6
#: As the native core builds its kernels of hosts (`fast_sources` in CMakeLists.txt).
_FLAGS = ("-O3", "-falign-loops=32")
#: Of the interval of the ratio: our own work is at most 2 % of an iteration.
WANTED = (0.0, 1.02)


@dataclass(frozen=True)
class Pattern:
    """An application pattern and its plain loop.

    Attributes:
        name: Interface and pattern of byteways.
        sizes: Bytes of one rank's data.
        arguments: Of the loop for a size, after cores and seconds; may write files into the folder.
    """

    name: str
    sizes: tuple[int, ...]
    source: Path
    arguments: Callable[[int, Path], Sequence[str]]

    def suite(self) -> str:
        return (
            'name = "peer"\ntitle = "As the plain loop"\nrounds = 1\nprecision = 0.002\n'
            f"case_budget_s = {SECONDS}\n"
            f'[[sweep]]\nname = "{self.name}"\ninterface = "{self.name}"\npattern = "{self.name}"\n'
            'executor = "cpu*"\nsource = "cpu0:pageable"\ndestination = "cpu0:pageable"\n'
            f"size = {[*self.sizes]}\noptions = {{ columns = 2 }}\n"
        )


def _ours(pattern: Pattern, folder: Path, launcher: str, number: int, best: bool) -> dict[Key, float]:
    """Nanoseconds of an iteration of byteways, by size."""
    records = own_records(folder / f"R{number}", pattern.suite(), launcher, 2, environment(BYTEWAYS_GPUS="0"))
    return {
        (record.sweep, record.size_bytes): record.time_ns.min if best else record.time_ns.median
        for record in records
        if record.time_ns
    }


def _theirs(
    pattern: Pattern, program: Path, launcher: str, cores: tuple[int, int], best: bool
) -> dict[Key, float]:
    """The same of the plain loop."""
    found = {}
    for size in pattern.sizes:
        words = [str(program), *map(str, cores), str(SECONDS), *pattern.arguments(size, program.parent)]
        name, told, *times = launched(launcher, 2, words, environment()).split()
        found[name, int(told)] = (min if best else statistics.median)(map(float, times))
    return found


def compare(pattern: Pattern, title: str) -> int:
    """Reads the command line, runs both in turns, and prints a line for each size."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--mpi", type=Path, help="prefix of the MPI to use")
    parser.add_argument("--pairs", type=pairs_of, default=10)
    parser.add_argument("--best", action="store_true", help="the best batch of each run, not the median")
    arguments = parser.parse_args()
    prefix, launcher, version = find_launcher(arguments.mpi)
    print(version)
    half = sorted(os.sched_getaffinity(0))
    cores = (half[0], half[len(half) // 2])  # the first of each rank's own in the plan of byteways
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / pattern.source.stem
        command = [f"{prefix}mpicc", *_FLAGS, str(pattern.source), "-o", str(program)]
        subprocess.run(command, check=True)
        lines = in_turns(
            arguments.pairs,
            lambda number: _ours(pattern, folder, launcher, number, arguments.best),
            lambda _: _theirs(pattern, program, launcher, cores, arguments.best),
            WANTED,
        )
        for line in lines:
            print(line)
    return 0
