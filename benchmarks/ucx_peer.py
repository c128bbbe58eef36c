"""Compares UCX between two ranks with a plain C loop over the same library, in turns. Prints ratios.

    python benchmarks/ucx_peer.py --headers FOLDER [--mpi FOLDER] [--pairs 20] [--best]

`--headers` is the folder that has `ucp/api/ucp.h`: of an installed UCX, or `libucx/include` of the package
`libucx-cu13`. MPI starts the ranks, and UCX is the one that it has loaded; all else is as in mpi_peer.py.
The loop is benchmarks/peers/ucx_loop.c.
"""

from __future__ import annotations

import sys

from loop_peer import Comparison, compare

#: Operations by the loop's names, and their sizes in bytes.
OPERATIONS = (
    *(("ucx-pong", 8), ("ucx-pong", 65536), ("ucx-window", 4096), ("ucx-window", 1 << 20)),
    *(("ucx-put", 8), ("ucx-put", 65536), ("ucx-get", 8), ("ucx-get", 65536)),
)


def main() -> int:
    words = sys.argv
    if "--headers" not in words[:-1]:
        print("error: --headers FOLDER is missing, the folder of ucp/api/ucp.h", file=sys.stderr)
        return 2
    at = words.index("--headers")
    headers = words[at + 1]
    del words[at : at + 2]
    ucx = Comparison(
        "ucx_loop", ("-O2", f"-I{headers}"), OPERATIONS, lambda kind, size, _: f"{kind} {size}", (0.97, 1.03)
    )
    return compare(ucx, (__doc__ or "").splitlines()[0])


if __name__ == "__main__":
    sys.exit(main())
