"""A rank that measures with byteways and with a plain loop in turns, in short slices of one process.

loop_peer.py starts it. The loop is a shared library (benchmarks/peers/loop.h). Both sides use the same MPI on
the same cores, have batches of equally many operations, and begin every slice with new memory, so that a
slice differs from the one before in nothing but the program. Rank 0 prints a line `pair KIND SIZE OURS_NS
THEIRS_NS` for each pair.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
from collections.abc import Callable
from itertools import islice

from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interfaces import APPLICATIONS
from byteways.measuring.shared.mpi_library import open_mpi
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work.rank_measuring import RankMeasurer
from particle_trips import TRIPS

#: Batches that a slice may have at most.
MOST = 10_000
#: Nanoseconds of a batch. byteways itself has shorter ones of short operations, whose calls are still cold:
#: its ranks have just agreed on what comes next.
BATCH_NS = 2e6
#: What byteways calls operations of UCX (ucx_peer.py). Puts and gets are flushed one by one.
_OF_UCX = {"ucx-pong": "ucx-ping-pong", "ucx-window": "ucx", "ucx-put": "ucx-put", "ucx-get": "ucx-get"}
#: Operations that belong together: messages of a window, and trips of particles, which differ.
TOGETHER = {"window": 64, "ucx-window": 64, "particles": TRIPS}


def batch_of(kind: str, operation_ns: float) -> int:
    """Operations of a batch of `BATCH_NS`, in whole windows and rounds of trips."""
    together = TOGETHER.get(kind, 1)
    return max(1, round(BATCH_NS / operation_ns / together)) * together


def case_of(kind: str, size: int, batch: int, *, device: bool = False) -> Case:
    """What byteways calls it; `device`: in memory of each rank's GPU."""
    gpus = (Buffer(f"gpu{rank}", "device", rank=rank) for rank in range(2))
    first, second = gpus if device else (Buffer("cpu0", "pageable", rank=rank) for rank in range(2))
    message = (Flow(first, second, first.device),)
    both = (Flow(first, first, "cpu0", others=((second, second),)),)
    if kind in APPLICATIONS:
        return Case(kind, kind, both, size, "warm", options={"columns": 2, "batch": batch})
    if kind in _OF_UCX:
        options = {"batch": batch, **({"window": 1} if kind in ("ucx-put", "ucx-get") else {})}
        return Case(_OF_UCX[kind], "unidirectional", message, size, "warm", options=options)
    interface = "mpi-ping-pong" if kind == "pong" else "mpi"
    if kind == "put":  # the window of one: a flush after each, as in the loop
        options = {"batch": batch, "window": 1}
        return Case("mpi-put", "unidirectional", message, size, "warm", options=options)
    if kind in ("pong", "window"):
        return Case(interface, "unidirectional", message, size, "warm", options={"batch": batch})
    return Case(interface, kind, both, size, "warm", options={"batch": batch})


def ours(measurer: RankMeasurer, case: Case, cores: list[int], seconds: float, key: int, best: bool) -> float:
    """Nanoseconds of an operation of byteways."""
    each = tuple((core,) for core in cores)
    outcome, _ = measurer.measure(CaseRequest(case, seconds, 0.002, 1, key, fresh=True, cores=each))
    if outcome["status"] != "measured" or not outcome["verified"]:
        raise RuntimeError(f"{case.interface}: {outcome.get('reason')}")
    return float((min if best else statistics.median)(outcome["samples_ns"]))


def theirs(loop: ctypes.CDLL, words: str, batch: int, seconds: float, best: bool) -> float:
    """The same of the plain loop.

    Args:
        words: What the loop calls the operation.
        batch: Operations of a batch; 0: as many as the loop finds.
    """
    times, count = (ctypes.c_double * MOST)(), ctypes.c_long(batch)
    found = loop.measure(words.encode(), ctypes.byref(count), ctypes.c_double(seconds), times, MOST)
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
    parser.add_argument("operations", nargs="+", metavar="KIND:SIZE:WORDS", help="WORDS are the loop's own")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--best", action="store_true", help="the best batch of each slice, not the median")
    arguments = parser.parse_args()
    best, seconds, cores = arguments.best, arguments.seconds, list(map(int, arguments.cores.split(",")))
    mpi = open_mpi()
    loop = ctypes.CDLL(arguments.loop)
    measurer = RankMeasurer.open(mpi.world, mpi)
    for operation in arguments.operations:
        kind, digits, words = operation.split(":", 2)
        size = int(digits)

        def other(_: int, words: str = words, batch: int = 0) -> float:
            os.sched_setaffinity(0, {cores[mpi.world.rank]})
            return theirs(loop, words, batch, seconds, best)

        batch = batch_of(kind, other(0))  # the loop's times are the same on both ranks
        case = case_of(kind, size, batch, device=words.endswith(" device"))

        def mine(number: int, case: Case = case) -> float:
            return ours(measurer, case, cores, seconds, number, best)

        def beside(number: int, words: str = words, batch: int = batch) -> float:
            return other(number, words, batch)

        for ours_ns, theirs_ns in in_slices(arguments.pairs, mine, beside):
            if mpi.world.rank == 0:
                print(f"\npair {kind} {size} {ours_ns} {theirs_ns}", flush=True)
    measurer.release()
    mpi.finalize()


if __name__ == "__main__":
    main()
