"""How many iterations the programs of OSU Micro-Benchmarks run, and what of them this mode repeats (pure).

The numbers are those of c/util/osu_util.h of version 7 (`LAT_LOOP_SMALL` and so on). A message of more than
`FEWER_ITERATIONS_ABOVE_BYTES` is large (`LARGE_MESSAGE_SIZE`).
"""

from __future__ import annotations

from dataclasses import dataclass

from byteways.cases.case import Case
from byteways.cases.interface_rows import BARRIER
from byteways.cases.interfaces import COLLECTIVES, INTERFACES, MULTI_PAIR
from byteways.cases.options import TIMING, WINDOW

#: The word of the option `timing`.
OSU = "osu"
#: Sizes above this, in bytes, have fewer iterations.
FEWER_ITERATIONS_ABOVE_BYTES = 8192
#: Messages of a window, unless the case says otherwise.
WINDOW_MESSAGES = 64
#: Collectives whose size OSU gives for one rank's block; ours, as nccl-tests', is that of all blocks.
SIZED_BY_BLOCK = ("allgather", "alltoall", "gather", "scatter")


@dataclass(frozen=True)
class Loop:
    """Iterations before the timed ones, and timed ones; messages or calls of an iteration."""

    skipped: int
    iterations: int
    operations: int = 1

    @property
    def all_operations(self) -> int:
        return (self.skipped + self.iterations) * self.operations


#: By kind of program: for small and for large messages.
_LATENCY = Loop(100, 10_000), Loop(10, 1_000)
_BANDWIDTH = Loop(10, 100), Loop(2, 20)
_COLLECTIVE = Loop(100, 1_000), Loop(10, 100)


def is_osu(case: Case) -> bool:
    """Whether the case repeats the loop of OSU's program."""
    return case.options.get(TIMING.name) == OSU


def osu_bytes(case: Case) -> int:
    """Returns the size in bytes that OSU's program prints for the case."""
    return case.size_bytes // (len(case.ranks) if case.pattern in SIZED_BY_BLOCK else 1)


def loop_of(case: Case) -> Loop:
    """Returns the loop of OSU's program for the case; `batch` fixes the timed iterations, as `-i` does."""
    kind, operations = _LATENCY, 1
    if case.pattern in (*COLLECTIVES, BARRIER):
        kind = _COLLECTIVE
    elif INTERFACES[case.interface].figure == "bandwidth":
        kind, operations = _BANDWIDTH, int(case.options.get(WINDOW.name, WINDOW_MESSAGES))
    loop = kind[osu_bytes(case) > FEWER_ITERATIONS_ABOVE_BYTES]
    return Loop(loop.skipped, int(case.options.get("batch", loop.iterations)), operations)


def program_of(case: Case) -> str:
    """Returns the name of OSU's program for the case."""
    if case.pattern in (*COLLECTIVES, BARRIER):
        name = "bcast" if case.pattern == "broadcast" else case.pattern.replace("-", "_")
    elif INTERFACES[case.interface].figure == "latency":
        name = "latency"
    else:
        name = {"bidirectional": "bibw", MULTI_PAIR: "mbw_mr"}.get(case.pattern, "bw")
    return f"osu_{name}"
