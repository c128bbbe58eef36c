"""Compares a halo between two ranks with a plain C loop over the same library, in turns. Prints ratios.

    python benchmarks/halo_peer.py [--mpi FOLDER] [--pairs 20] [--best] [--polling]

`--mpi` is the prefix of an installation with bin/mpicc and bin/mpiexec; without it those in PATH are used.
The loop (benchmarks/peers/halo_loop.c) computes the same stencil, packs the same faces and makes the same
calls of MPI on the same cores, in turns with byteways (benchmarks/loop_peer.py). A line gives both medians of
an iteration over all pairs, and the ratio of byteways' time to the loop's: the geometric mean over pairs with
its 95 % interval. Wanted: an interval that ends at 1.02 at most, so that byteways' own work is at most 2 % of
an iteration; the line says whether it does. It takes two idle cores; `--best` takes the best batch of each
slice instead of its median, for machines on which others work.
"""

from __future__ import annotations

import sys
from pathlib import Path

from byteways.cases.applications import tile_of
from loop_peer import application, compare


def tile_words(size_bytes: int, _: Path) -> str:
    """Shape of a rank's tile whose cells of one field have `size_bytes`."""
    tile = tile_of(size_bytes, {})
    return f"{tile.width} {tile.height} {tile.depth} {tile.fields}"


HALO = application("halo", (32768, 1 << 20), tile_words)

if __name__ == "__main__":
    sys.exit(compare(HALO, (__doc__ or "").splitlines()[0]))
