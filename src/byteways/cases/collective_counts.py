"""Bus and algorithm bandwidth of collectives, as nccl-tests defines them."""

from __future__ import annotations

#: Ratio of bus to algorithm bandwidth for n ranks, as (a, b) of a · (n - b) / n: nccl-tests,
#: doc/PERFORMANCE.md.
_BUS = {
    "allreduce": (2, 1),
    **dict.fromkeys(("allgather", "reduce-scatter", "alltoall", "gather", "scatter"), (1, 1)),
    **dict.fromkeys(("broadcast", "reduce"), (1, 0)),
}


def bus_factor(pattern: str, ranks: int) -> float:
    """Returns the ratio of bus to algorithm bandwidth as nccl-tests defines it."""
    times, without = _BUS[pattern]
    return times * (ranks - without) / ranks
