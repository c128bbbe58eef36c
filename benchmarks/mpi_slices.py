"""A rank that measures with byteways and with the plain loop in turns, in short slices of one process.

mpi_peer.py starts it. The loop is benchmarks/peers/mpi_loop.c as a shared library. Both sides use the same
MPI on the same cores, so that a slice differs from the one before in nothing but the program. Rank 0 prints
`KIND SIZE OURS_NS THEIRS_NS` for each pair.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
from collections.abc import Callable
from itertools import islice

from byteways.plan.case import Buffer, Case, Flow
from byteways.run.mpi_library import open_mpi
from byteways.run.rank_measuring import RankMeasurer

#: Batches that a slice may have at most.
MOST = 10_000
#: Nanoseconds of a batch of the loop. byteways itself has shorter ones of short operations, whose calls are
#: still cold: its ranks have just agreed on what comes next.
BATCH_NS = 2e6
#: Messages in a window.
WINDOW = 64


def batch_of(kind: str, operation_ns: float) -> int:
    """Operations of a batch as long as the loop's, in whole windows."""
    together = WINDOW if kind == "window" else 1
    return max(1, round(BATCH_NS / operation_ns / together)) * together


def case_of(kind: str, size: int, batch: int) -> Case:
    """What byteways calls it."""
    options = {"batch": batch}
    first, second = (Buffer("cpu0", "pageable", rank=rank) for rank in range(2))
    message = (Flow(first, second, "cpu0"),)
    if kind == "pong":
        return Case("mpi-ping-pong", "unidirectional", message, size, "warm", options=options)
    if kind == "window":
        return Case("mpi", "unidirectional", message, size, "warm", options=options)
    both = (Flow(first, first, "cpu0", others=((second, second),)),)
    return Case("mpi", "allreduce", both, size, "warm", options=options)


def ours(measurer: RankMeasurer, case: Case, cores: list[int], seconds: float, key: int, best: bool) -> float:
    """Nanoseconds of an operation of byteways."""
    outcome = measurer.measure(
        {
            "case": case.identity(),
            "budget_s": seconds,
            "precision": 0.002,
            "key": key,
            "cores": [[core] for core in cores],
            "ranks": case.ranks,
        }
    )
    if outcome["status"] != "measured" or not outcome["verified"]:
        raise RuntimeError(f"{case.interface}: {outcome.get('reason')}")
    return float((min if best else statistics.median)(outcome["samples_ns"]))


def theirs(loop: ctypes.CDLL, kind: str, size: int, seconds: float, best: bool) -> float:
    """The same of the plain loop."""
    times = (ctypes.c_double * MOST)()
    found = loop.measure(kind.encode(), size, ctypes.c_double(seconds), times, MOST)
    return float((min if best else statistics.median)(islice(times, found)))


def in_slices(
    pairs: int, mine: Callable[[int], float], other: Callable[[int], float]
) -> list[tuple[float, float]]:
    """Both times of each pair; every second one begins with the loop."""
    found = []
    for number in range(pairs):
        if number % 2:
            theirs_ns, ours_ns = other(number), mine(number)
        else:
            ours_ns, theirs_ns = mine(number), other(number)
        found.append((ours_ns, theirs_ns))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loop", help="the plain loop as a shared library")
    parser.add_argument("cores", help="of both ranks: 0,1")
    parser.add_argument("seconds", type=float, help="of a slice")
    parser.add_argument("pairs", type=int)
    parser.add_argument("operations", nargs="+", metavar="KIND:SIZE")
    parser.add_argument("--best", action="store_true", help="the best batch of each slice, not the median")
    arguments = parser.parse_args()
    best, seconds, cores = arguments.best, arguments.seconds, list(map(int, arguments.cores.split(",")))
    mpi = open_mpi()
    loop = ctypes.CDLL(arguments.loop)
    measurer = RankMeasurer.open(mpi.world, mpi)
    for operation in arguments.operations:
        kind, size = operation.split(":")[0], int(operation.split(":")[1])

        def other(_: int, kind: str = kind, size: int = size) -> float:
            os.sched_setaffinity(0, {cores[mpi.world.rank]})
            return theirs(loop, kind, size, seconds, best)

        case = case_of(kind, size, batch_of(kind, other(0)))  # the loop's times are the same on both ranks

        def mine(number: int, case: Case = case) -> float:
            return ours(measurer, case, cores, seconds, number, best)

        for ours_ns, theirs_ns in in_slices(arguments.pairs, mine, other):
            if mpi.world.rank == 0:
                print(kind, size, ours_ns, theirs_ns, flush=True)
    measurer.release()
    mpi.finalize()


if __name__ == "__main__":
    main()
