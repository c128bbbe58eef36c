"""Compares MPI between two ranks with a plain C loop over the same library, in turns. Prints ratios.

    python benchmarks/mpi_peer.py [--mpi FOLDER] [--pairs 20] [--best] [--polling] [--device]

`--mpi` is the prefix of an installation with bin/mpicc and bin/mpiexec; without it those in PATH are used.
The loop (benchmarks/peers/mpi_loop.c) makes the same calls on the same cores, in turns with byteways
(benchmarks/loop_peer.py). A line gives, for one operation, both medians over all pairs and the ratio of
byteways' time to the loop's: the geometric mean over pairs, its 95 % interval, and whether that lies
within 0.97 to 1.03, as wanted. It takes two idle cores; `--best` takes the best batch of each slice instead
of its median, where others work a little. With `--polling` MPI does not give its core away while it waits
(benchmarks/peers/polling.c). With `--device` the buffers are in memory of two GPUs, and MPI is that of the
packages of the extra `mpi`, unless another one is named. What MPI costs by the way it was started, such as
its thread level, is in both times.
"""

from __future__ import annotations

import sys

from loop_peer import Comparison, compare

#: Operations by the loop's names, and their sizes in bytes.
OPERATIONS = (
    *(("pong", 8), ("pong", 65536), ("window", 4096), ("window", 1 << 20)),
    *(("allreduce", 8), ("allreduce", 1 << 20)),
)
#: The same between two GPUs.
OF_DEVICES = (
    *(("pong", size) for size in (8, 4096, 65536, 1 << 20, 16 << 20)),
    *(("window", size) for size in (4096, 65536, 1 << 20, 16 << 20, 256 << 20)),
    *(("put", size) for size in (8, 65536, 1 << 20, 256 << 20)),
)

MPI = Comparison("mpi_loop", ("-O2",), OPERATIONS, lambda kind, size, _: f"{kind} {size}", (0.97, 1.03))
#: Ours may be slower by 2 %.
DEVICES = Comparison(
    "mpi_loop", ("-O2",), OF_DEVICES, lambda kind, size, _: f"{kind} {size} device", (0.0, 1.02)
)

if __name__ == "__main__":
    sys.exit(compare(MPI, (__doc__ or "").splitlines()[0], DEVICES))
