"""What OMB, nccl-tests and rccl-tests did between ranks, done on a simulated machine.

Each program gives the time of one operation in ns, as its original does. A simulated machine without noise
repeats itself, so a few calls after a first one are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import byref, c_size_t, c_uint64, c_void_p
from typing import TYPE_CHECKING

from simulated_ranks import BYTE, Rank, World

if TYPE_CHECKING:
    from simulated_programs import Operation
    from simulated_runtime import Runtime

#: OMB: messages of a window (`-W`), and bytes of the answer that ends one.
WINDOW, ANSWER_BYTES = 64, 4
#: Calls back to back in one timed batch: `all_reduce_perf -n 20`.
CALLS = 20
_SUM = 0
_XCCL_BYTE, _XCCL_UNSIGNED32 = 1, 3
_WORD_BYTES = 4


# --- programs of OMB over MPI: ns of one operation, on the ranks that time


def osu_latency(rank: Rank) -> float:
    """Half of a round trip."""
    data, peer = rank.buffer(rank.size_bytes), 1 - rank.number
    began = 0
    for trip in range(3):  # the first opens buffers
        if trip == 1:
            rank.barrier()
            began = rank.now()
        if rank.number == 0:
            rank.send(data, rank.size_bytes, peer)
            rank.receive(data, rank.size_bytes, peer)
        else:
            rank.receive(data, rank.size_bytes, peer)
            rank.send(data, rank.size_bytes, peer)
    return (rank.now() - began) / 4 if rank.number == 0 else 0


def osu_bw(rank: Rank) -> float:
    """A window of messages one way and an answer; by message."""
    return _windows(rank, both=False)


def osu_bibw(rank: Rank) -> float:
    """Windows both ways at once; by message of one direction."""
    return _windows(rank, both=True)


def _windows(rank: Rank, both: bool) -> float:
    peer, size = 1 - rank.number, rank.size_bytes
    out, into, answer = rank.buffer(size), rank.buffer(size), rank.buffer(ANSWER_BYTES)
    calls = [("start_receive", into)] if both or rank.number == 1 else []
    if both or rank.number == 0:
        calls.append(("start_send", out))
    requests = (c_uint64 * (WINDOW * len(calls)))()
    began = 0
    for window in range(3):
        if window == 1:
            rank.barrier()
            began = rank.now()
        for offset, (name, data) in enumerate(calls):
            for message in range(WINDOW):
                rank.start(name, data, size, peer, requests, WINDOW * offset + message)
        rank.world.mpi("wait_all", len(requests), requests)
        if rank.number == 0:
            rank.receive(answer, ANSWER_BYTES, peer)
        else:
            rank.send(answer, ANSWER_BYTES, peer)
    return (rank.now() - began) / (2 * WINDOW) if rank.number == 0 else 0


def _collective(call: Callable[[Rank, int, int], None], blocks: int = 0) -> Callable[[Rank], float]:
    """OMB's loop of a collective, a barrier after each call. `blocks`: each end has one for every rank."""

    def program(rank: Rank) -> float:
        size, ranks = rank.size_bytes, rank.world.size
        source = rank.buffer(size * (ranks if blocks > 1 else 1))
        destination = rank.buffer(size * (ranks if blocks > 0 else 1))
        total = 0
        for turn in range(3):
            rank.barrier()
            began = rank.now()
            call(rank, source, destination)
            if turn > 0:
                total += rank.now() - began
        return total / 2

    return program


def _mpi_allreduce(rank: Rank, source: int, destination: int) -> None:
    count = max(1, rank.size_bytes // _WORD_BYTES)
    rank.world.mpi("allreduce", source, destination, count, 3, rank.world.world)  # kUnsigned32


def _mpi_broadcast(rank: Rank, source: int, destination: int) -> None:
    rank.world.mpi("broadcast", source, rank.size_bytes, BYTE, 0, rank.world.world)


def _mpi_allgather(rank: Rank, source: int, destination: int) -> None:
    rank.world.mpi("allgather", source, destination, rank.size_bytes, BYTE, rank.world.world)


def _mpi_alltoall(rank: Rank, source: int, destination: int) -> None:
    rank.world.mpi("alltoall", source, destination, rank.size_bytes, BYTE, rank.world.world)


# --- programs over NCCL or RCCL


class _Xccl:
    """Buffers of a rank, and the call of the operation on its stream."""

    def __init__(self, rank: Rank, name: str) -> None:
        self.rank, self.name = rank, name
        self.comm, self.stream = rank.join()
        ranks = rank.world.size
        whole = rank.world.operation.message.endswith("_perf") and name in ("all_gather", "reduce_scatter")
        size = self.size = rank.size_bytes // (ranks if whole else 1)  # nccl-tests counts all blocks
        self.source = rank.buffer(size * (ranks if name in ("alltoall", "reduce_scatter") else 1))
        self.destination = rank.buffer(size * (ranks if name in ("alltoall", "all_gather") else 1))

    def call(self) -> None:
        xccl, size, ends = self.rank.world.xccl, self.size, (self.comm, self.stream)
        source, destination = c_void_p(self.source), c_void_p(self.destination)
        words = c_size_t(max(1, size // _WORD_BYTES))
        if self.name == "all_reduce":
            xccl("AllReduce", source, destination, words, _XCCL_UNSIGNED32, _SUM, *ends)
        elif self.name == "reduce_scatter":
            xccl("ReduceScatter", source, destination, words, _XCCL_UNSIGNED32, _SUM, *ends)
        elif self.name == "all_gather":
            xccl("AllGather", source, destination, c_size_t(size), _XCCL_BYTE, *ends)
        else:
            xccl("GroupStart")
            for peer in range(self.rank.world.size):
                for name, base in (("Send", self.source), ("Recv", self.destination)):
                    xccl(name, c_void_p(base + peer * size), c_size_t(size), _XCCL_BYTE, peer, *ends)
            xccl("GroupEnd")

    def wait(self) -> None:
        self.rank.runtime.synchronize(self.stream.value or 0)


def _osu_xccl(name: str) -> Callable[[Rank], float]:
    """OMB: each call is waited for."""

    def program(rank: Rank) -> float:
        calls, total = _Xccl(rank, name), 0
        for turn in range(3):
            rank.barrier()
            began = rank.now()
            calls.call()
            calls.wait()
            if turn > 0:
                total += rank.now() - began
        return total / 2

    return program


def _back_to_back(name: str) -> Callable[[Rank], float]:
    """nccl-tests: calls back to back and one wait; with `graph` they are replayed from a graph."""

    def program(rank: Rank) -> float:
        calls = _Xccl(rank, name)
        runtime, stream = rank.runtime, calls.stream
        calls.call()
        calls.wait()
        graph = 0
        if rank.world.operation.graph:
            runtime.call("StreamBeginCapture", stream, 0)
            for _ in range(CALLS):
                calls.call()
            recorded = c_void_p()
            runtime.call("StreamEndCapture", stream, byref(recorded))
            graph = runtime.created("GraphInstantiateWithFlags", recorded, c_uint64(0))
        rank.barrier()
        began = rank.now()
        if graph:
            runtime.call("GraphLaunch", c_void_p(graph), stream)
        else:
            for _ in range(CALLS):
                calls.call()
        calls.wait()
        return (rank.now() - began) / CALLS

    return program


def one_process(rank: Rank) -> float:
    """`all_reduce_perf -g`: one thread calls for all GPUs, in groups."""
    runtime, xccl, size, gpus = rank.runtime, rank.world.xccl, rank.size_bytes, rank.world.operation.ranks
    comms, streams, buffers = [c_void_p() for _ in range(gpus)], [], []
    xccl("GroupStart")
    for gpu, comm in enumerate(comms):
        runtime.select(gpu)
        xccl("CommInitRank", byref(comm), gpus, rank.world.id, gpu)
    xccl("GroupEnd")
    for gpu in range(gpus):
        runtime.select(gpu)
        streams.append(runtime.stream())
        buffers.append([c_void_p(runtime.allocate(f"gpu{gpu}:device", max(size, 8))) for _ in range(2)])
    words, began = c_size_t(max(1, size // _WORD_BYTES)), 0
    for turn in range(1 + CALLS):
        if turn == 1:
            for stream in streams:
                runtime.synchronize(stream)
            began = rank.now()
        xccl("GroupStart")
        for ends, comm, stream in zip(buffers, comms, streams, strict=True):
            xccl("AllReduce", *ends, words, _XCCL_UNSIGNED32, _SUM, comm, c_void_p(stream))
        xccl("GroupEnd")
    for stream in streams:
        runtime.synchronize(stream)
    return (rank.now() - began) / CALLS


def osu_xccl_latency(rank: Rank) -> float:
    """Half of a round trip, each message waited for."""
    comm, stream = rank.join()
    data, size, peer = c_void_p(rank.buffer(rank.size_bytes)), c_size_t(rank.size_bytes), 1 - rank.number
    began = 0
    for trip in range(3):
        if trip == 1:
            rank.barrier()
            began = rank.now()
        for name in ("Send", "Recv") if rank.number == 0 else ("Recv", "Send"):
            rank.world.xccl(name, data, size, _XCCL_BYTE, peer, comm, stream)
            rank.runtime.synchronize(stream.value or 0)
    return (rank.now() - began) / 4 if rank.number == 0 else 0


def osu_xccl_bw(rank: Rank) -> float:
    """A window of messages on one stream, and a wait."""
    comm, stream = rank.join()
    data, size = c_void_p(rank.buffer(rank.size_bytes)), c_size_t(rank.size_bytes)
    name, began = ("Send", "Recv")[rank.number], 0
    for window in range(2):
        if window == 1:
            rank.barrier()
            began = rank.now()
        for _ in range(WINDOW):
            rank.world.xccl(name, data, size, _XCCL_BYTE, 1 - rank.number, comm, stream)
        rank.runtime.synchronize(stream.value or 0)
    return (rank.now() - began) / WINDOW if rank.number == 0 else 0


#: By the `program` of a published value.
PROGRAMS: Mapping[str, Callable[[Rank], float]] = {
    "osu_latency": osu_latency,
    "osu_bw": osu_bw,
    "osu_bibw": osu_bibw,
    "osu_allreduce": _collective(_mpi_allreduce),
    "osu_bcast": _collective(_mpi_broadcast),
    "osu_allgather": _collective(_mpi_allgather, blocks=1),
    "osu_alltoall": _collective(_mpi_alltoall, blocks=2),
    "osu_xccl_latency": osu_xccl_latency,
    "osu_xccl_bw": osu_xccl_bw,
    "osu_xccl_allreduce": _osu_xccl("all_reduce"),
    "osu_xccl_allgather": _osu_xccl("all_gather"),
    "osu_xccl_alltoall": _osu_xccl("alltoall"),
    "one_process": one_process,
    "all_reduce_perf": _back_to_back("all_reduce"),
    "all_reduce_bench": _back_to_back("all_reduce"),
    "all_gather_perf": _back_to_back("all_gather"),
    "reduce_scatter_perf": _back_to_back("reduce_scatter"),
}


def messages(runtime: Runtime, operation: Operation) -> list[float]:
    """Runs the program of a published value between ranks."""
    return [World(runtime, operation).run(PROGRAMS[operation.message])]
