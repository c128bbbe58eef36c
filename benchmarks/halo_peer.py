"""Compares a halo between two ranks with a plain C loop over the same library, run in turns. Prints ratios.

    python benchmarks/halo_peer.py [--mpi FOLDER] [--pairs 10] [--best]

`--mpi` is the prefix of an installation with bin/mpicc and bin/mpiexec; without it those in PATH are used.
The loop (benchmarks/peers/halo_loop.c) computes the same stencil, packs the same faces and makes the same
calls of MPI on the same cores. A line gives both medians of an iteration over all pairs, and the ratio of
byteways' time to the loop's with its 95 % interval. Wanted: an interval that ends at 1.02 at most, so that
byteways' own work is at most 2 % of an iteration; the line says whether it does. It takes two idle cores;
`--best` takes the best batch of each run instead of its median, for machines on which others work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from byteways.plan.applications import tile_of
from peer_runs import Key, environment, find_launcher, in_turns, launched, own_records, pairs_of

SOURCE = Path(__file__).parent / "peers" / "halo_loop.c"
SECONDS = 0.6
#: Of the interval of the ratio: our own work is at most 2 % of an iteration.
WANTED = (0.0, 1.02)
#: Bytes of one rank's cells of one field.
SIZES = (32768, 1 << 20)


def suite() -> str:
    return (
        'name = "peer"\ntitle = "As the plain loop"\nrounds = 1\nprecision = 0.002\n'
        f"case_budget_s = {SECONDS}\n"
        '[[sweep]]\nname = "halo"\ninterface = "halo"\npattern = "halo"\nexecutor = "cpu*"\n'
        f'source = "cpu0:pageable"\ndestination = "cpu0:pageable"\nsize = {[*SIZES]}\n'
        "options = { columns = 2 }\n"
    )


def ours(folder: Path, launcher: str, number: int, best: bool) -> dict[Key, float]:
    """Nanoseconds of an iteration of byteways, by size."""
    records = own_records(folder / f"R{number}", suite(), launcher, 2, environment(BYTEWAYS_GPUS="0"))
    return {
        (record.sweep, record.size_bytes): record.time_ns.min if best else record.time_ns.median
        for record in records
        if record.time_ns
    }


def theirs(program: Path, launcher: str, cores: tuple[int, int], best: bool) -> dict[Key, float]:
    """The same of the plain loop."""
    found = {}
    for size in SIZES:
        tile = tile_of(size, {})
        shape = map(str, (tile.width, tile.height, tile.depth, tile.fields))
        words = [str(program), *map(str, cores), str(SECONDS), *shape]
        name, told, *times = launched(launcher, 2, words, environment()).split()
        found[name, int(told)] = (min if best else statistics.median)(map(float, times))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
        program = folder / "halo_loop"
        # As the native core is built.
        subprocess.run([f"{prefix}mpicc", "-O3", str(SOURCE), "-o", str(program)], check=True)
        lines = in_turns(
            arguments.pairs,
            lambda number: ours(folder, launcher, number, arguments.best),
            lambda _: theirs(program, launcher, cores, arguments.best),
            WANTED,
        )
        for line in lines:
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
