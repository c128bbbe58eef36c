"""Compares MPI between two ranks with a plain C loop over the same library, run in turns. Prints ratios.

    python benchmarks/mpi_peer.py [--mpi FOLDER] [--pairs 10] [--best]

`--mpi` is the prefix of an installation with bin/mpicc and bin/mpiexec; without it those in PATH are used.
The loop (benchmarks/peers/mpi_loop.c) makes the same calls on the same cores. A line gives, for one
operation, both medians over all pairs and the ratio of byteways' time to the loop's: the median over pairs,
the 95 % interval of the mean, and whether that lies within 0.97 to 1.03, as wanted. Every second pair begins
with the loop. `--best` takes the best batch of each run instead of its median, for machines on which others
work: a batch that was not disturbed shows what the loops themselves take.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from peer_runs import Key, environment, find_launcher, in_turns, launched, own_records, pairs_of

SOURCE = Path(__file__).parent / "peers" / "mpi_loop.c"
SECONDS = 0.4
#: Of the interval of the ratio.
WANTED = (0.97, 1.03)
#: What the loop calls it, sizes in bytes, and the case of byteways.
KINDS = {
    "pong": ((8, 65536), 'interface = "mpi-ping-pong"'),
    "window": ((4096, 1 << 20), 'interface = "mpi"\ncache = "warm"'),
    "allreduce": ((8, 1 << 20), 'interface = "mpi"\npattern = "allreduce"\ncache = "warm"'),
}


def suite() -> str:
    text = 'name = "peer"\ntitle = "As the plain loop"\nrounds = 1\nprecision = 0.002\n'
    text += f"case_budget_s = {SECONDS}\n"
    for name, (sizes, keys) in KINDS.items():
        text += (
            f'[[sweep]]\nname = "{name}"\n{keys}\nsource = "cpu0:pageable"\ndestination = "cpu0:pageable"\n'
        )
        text += f"size = {[*sizes]}\n"
    return text


def ours(folder: Path, launcher: str, number: int, best: bool) -> dict[Key, float]:
    """Nanoseconds of an operation of byteways, by kind and size."""
    records = own_records(folder / f"R{number}", suite(), launcher, 2, environment(BYTEWAYS_GPUS="0"))
    return {
        (record.sweep, record.size_bytes): record.time_ns.min if best else record.time_ns.median
        for record in records
        if record.time_ns and (record.pattern != "unidirectional" or record.path == "0/cpu0>1/cpu0")
    }


def theirs(program: Path, launcher: str, cores: tuple[int, int], best: bool) -> dict[Key, float]:
    """The same of the plain loop."""
    words = [str(program), *map(str, cores), str(SECONDS)]
    for name, (sizes, _) in KINDS.items():
        words += [word for size in sizes for word in (name, str(size))]
    found = {}
    for line in launched(launcher, 2, words, environment()).splitlines():
        name, size, *times = line.split()
        found[name, int(size)] = (min if best else statistics.median)(map(float, times))
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
        program = folder / "mpi_loop"
        subprocess.run([f"{prefix}mpicc", "-O2", str(SOURCE), "-o", str(program)], check=True)
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
