"""Compares particles between two ranks with a plain C loop over the same library, in turns. Prints ratios.

    python benchmarks/particles_peer.py [--mpi FOLDER] [--pairs 20] [--best] [--polling]

`--mpi` is the prefix of an installation with bin/mpicc and bin/mpiexec; without it those in PATH are used.
The loop (benchmarks/peers/particle_loop.c) passes over the same particles, packs the same messages
(benchmarks/particle_trips.py) and makes the same calls of MPI on the same cores. Lines, and what is wanted,
are those of benchmarks/halo_peer.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

from loop_peer import application, compare
from particle_trips import text_of


def trips_file(size_bytes: int, folder: Path) -> str:
    """Writes the file with the messages of both ranks, whose particles have `size_bytes` each; its name."""
    file = folder / f"trips_{size_bytes}.txt"
    file.write_text(text_of(size_bytes), encoding="ascii")
    return str(file)


PARTICLES = application("particles", (131072, 4 << 20), trips_file)

if __name__ == "__main__":
    sys.exit(compare(PARTICLES, (__doc__ or "").splitlines()[0]))
