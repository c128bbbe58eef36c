"""A bin: operations of a program that are alike, counted. Collectors and importers of traces make the same.

Two operations share a bin if they differ in time alone: the same call from the same module, the same process,
the same memories and devices, and sizes of one bin. A collector that runs out of bins (MOST_BINS) makes the
sizes of new ones wider, to powers of two; counts and bytes stay exact.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from byteways.base.quantities import QUANTITIES

#: Bins of one process and collector; more sizes than that share bins.
MOST_BINS = 4096
#: Intervals of a time line; a program that runs longer gets wider ones.
MOST_INTERVALS = 1024
#: Length of the intervals of a program that ends within a second, in ns.
FIRST_INTERVAL_NS = 1_000_000

#: Numbers that a collector sums up. A snapshot with one beyond is damaged: it is named and not read.
Sum = Annotated[int, msgspec.Meta(ge=0, le=int(QUANTITIES["bytes"].most))]

What = Literal[
    "copy",  # of memory, by a call: GPU copies, memcpy
    "set",  # of memory
    "message",  # of one rank to another, as its sender or receiver sees it
    "put",  # into a window of another rank
    "get",
    "collective",  # of a communicator, as one rank sees it
    "allocation",
    "release",
    "synchronisation",  # a wait for a device, stream, event or request; no bytes
    "migration",  # of managed memory, by the driver
    "fault",  # of managed memory; no bytes
    "link",  # bytes that a link's counters saw, whoever moved them
    "start",  # start and end of a library such as MPI; no bytes
    "other",  # a call that communicates and is not interpreted; no bytes that are known
]


class End(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an operation reads or writes. Absent fields are unknown."""

    memory: str | None = None  # a kind of plan.memory_kinds: pageable, pinned, device, managed …
    device: str | None = None  # as in a topology: gpu0, cpu1
    rank: int | None = None  # in the world's communicator, of messages


class Bin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Operations that are alike. Times are sums over the operations, in ns; None: not observed."""

    what: What
    method: str  # the call as the program's library names it: cuMemcpyHtoDAsync, MPI_Send, ncclAllReduce
    count: Sum
    bytes: Sum  # sum over the operations; of a collective as sizes of suites: exchanged blocks together
    size_from: Sum  # least size of one operation in bytes
    size_to: Sum  # greatest size; equal to the least while there are bins enough
    sized: bool = True  # False: what observed the operations does not know their sizes; the three above are 0
    process: int = 0  # index in Watched.processes
    source: End = End()
    destination: End = End()
    ranks: Sum | None = None  # of the communicator of a collective
    site: str | None = None  # name of the module (executable or library) that called
    time_ns: Sum | None = None  # on the device where a device does it; else of the call
    call_ns: Sum | None = None  # the caller spent in the call
    waiting_ns: Sum | None = None  # of it, waiting for others
    overlap_ns: Sum | None = None  # of time_ns, while kernels ran on a device of the operation
    detail: dict[
        str, str | int
    ] = {}  # what the library says more: algorithm, protocol, channels, asynchronous


class Process(msgspec.Struct, frozen=True, omit_defaults=True):
    """A process that was watched."""

    pid: int
    host: str
    program: str  # name of the executable
    rank: int | None = None  # in the world's communicator; None: no MPI
    ranks: Sum | None = None  # of the world's communicator
    collectors: list[str] = []  # what watched it: mpi, cuda, nccl, hip, memcpy
    duration_ns: Sum | None = None  # from its first operation to its last snapshot
    ended: bool = True  # False: killed or still running, the last snapshot is what it left
    lost: Sum = 0  # operations that a collector could not record
    failures: list[str] = []  # why a collector could not watch: codes of problems.py


class Series(msgspec.Struct, frozen=True):
    """Bytes of one kind of operation over time: one number for each interval of the time line."""

    what: What
    process: int
    bytes: list[Sum]


class TimeLine(msgspec.Struct, frozen=True):
    """When a program moved bytes, thinned to at most MOST_INTERVALS intervals.

    The first interval begins when `byteways watch` started the program, on every host by its own clock.
    Intervals are FIRST_INTERVAL_NS times a power of two, so that those of processes can be joined.
    """

    interval_ns: int
    series: list[Series]


class Watched(msgspec.Struct, frozen=True):
    """All that is known of what a program moved."""

    processes: list[Process]
    bins: list[Bin]
    timeline: TimeLine | None = None
