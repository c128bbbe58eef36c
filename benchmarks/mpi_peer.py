"""Compares MPI between two ranks with a plain C loop over the same library, in turns. Prints ratios.

    python benchmarks/mpi_peer.py [--mpi FOLDER] [--pairs 20] [--best]

`--mpi` is the prefix of an installation with bin/mpicc and bin/mpiexec; without it those in PATH are used.
The loop (benchmarks/peers/mpi_loop.c) makes the same calls on the same cores. Both take turns in the same two
processes, in slices of a fifth of a second (benchmarks/mpi_slices.py), so that other work on the machine and
its clocks disturb both alike. A line gives, for one operation, both medians over all pairs and the ratio of
byteways' time to the loop's: the geometric mean over pairs, its 95 % interval, and whether that lies
within 0.97 to 1.03, as wanted. It takes two idle cores; `--best` takes the best batch of each slice instead
of its median, where others work a little. What MPI costs by the way it was started, such as its
thread level, is in both times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from peer_runs import Key, environment, find_launcher, launched, lines_of, pairs_of

SOURCE = Path(__file__).parent / "peers" / "mpi_loop.c"
SLICES = Path(__file__).with_name("mpi_slices.py")
#: Of a slice.
SECONDS = 0.2
#: Of the interval of the ratio.
WANTED = (0.97, 1.03)
#: Operations by the loop's names, and their sizes in bytes.
OPERATIONS = (
    *("pong:8", "pong:65536", "window:4096", "window:1048576"),
    *("allreduce:8", "allreduce:1048576"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", type=Path, help="prefix of the MPI to use")
    parser.add_argument("--pairs", type=pairs_of, default=20)
    parser.add_argument("--best", action="store_true", help="the best batch of each slice, not the median")
    arguments = parser.parse_args()
    prefix, launcher, version = find_launcher(arguments.mpi)
    print(version)
    half = sorted(os.sched_getaffinity(0))
    cores = (half[0], half[len(half) // 2])
    found: defaultdict[Key, list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        library = Path(name) / "libmpi_loop.so"
        command = [f"{prefix}mpicc", "-O2", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
        subprocess.run(command, check=True)
        words = [sys.executable, str(SLICES), str(library), ",".join(map(str, cores)), str(SECONDS)]
        words += [str(arguments.pairs), *OPERATIONS, *(["--best"] if arguments.best else [])]
        for line in launched(launcher, 2, words, environment(BYTEWAYS_GPUS="0")).splitlines():
            kind, size, mine, other = line.split()
            found[kind, int(size)].append((float(mine), float(other)))
    for line in lines_of(found, WANTED):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
