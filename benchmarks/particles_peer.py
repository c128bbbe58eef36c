"""Compares particles between two ranks with a plain C loop over the same library, run by turns.

    python benchmarks/particles_peer.py [--mpi FOLDER] [--pairs 10] [--best]

`--mpi` is the prefix of an installation with bin/mpicc and bin/mpiexec; without it those in PATH are used.
The loop (benchmarks/peers/particle_loop.c) passes over the same particles, packs the same messages
(benchmarks/particle_trips.py) and makes the same calls of MPI on the same cores. Lines, and what is wanted,
are those of benchmarks/halo_peer.py.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from application_peer import Pattern, compare
from particle_trips import text_of


def trips_file(size_bytes: int, folder: Path) -> Sequence[str]:
    """The file with the messages of both ranks, whose particles have `size_bytes` each."""
    file = folder / f"trips_{size_bytes}.txt"
    if not file.exists():
        file.write_text(text_of(size_bytes), encoding="ascii")
    return [str(file)]


PARTICLES = Pattern(
    "particles", (131072, 4 << 20), Path(__file__).parent / "peers" / "particle_loop.c", trips_file
)

if __name__ == "__main__":
    sys.exit(compare(PARTICLES, (__doc__ or "").splitlines()[0]))
