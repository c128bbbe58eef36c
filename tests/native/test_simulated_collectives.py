"""Collectives of the simulated MPI: which elements they leave, in place and apart, and what they take."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from tests.native import simulated as toy
from tests.native.simulated_ranks import BYTE, ELEMENTS, FLOAT, UNSIGNED64, Machine

SEND_NS, RECEIVE_NS, HANDSHAKE_NS, REGISTRATION_NS = 300.0, 170.0, 510.0, 70000.0
ENQUEUE_NS, CLOCK_NS = 1000.0, 20.0
BIG = 256 * toy.MIB


def element_of(rank: int, index: int) -> int:
    """Small, so that sums are exact in every kind of element; no two ranks or neighbours alike."""
    return (3 * rank + 5 * index) % 17


#: Collective -> (blocks of a source, blocks of a destination); `n`: one a rank.
COLLECTIVES = {
    "broadcast": ("1", "1"),
    "reduce": ("1", "1"),
    "allreduce": ("1", "1"),
    "reduce_scatter": ("n", "1"),
    "allgather": ("1", "n"),
    "gather": ("1", "n"),
    "scatter": ("n", "1"),
    "alltoall": ("n", "n"),
}
ROOT = 1


def expected(name: str, rank: int, size: int, count: int) -> list[int] | None:
    """Elements of the destination of a rank; None where nothing is said of it."""
    every = range(size)
    if name == "broadcast":
        return [element_of(ROOT, k) for k in range(count)]
    if name == "allreduce" or (name == "reduce" and rank == ROOT):
        return [sum(element_of(each, k) for each in every) for k in range(count)]
    if name == "reduce_scatter":
        return [sum(element_of(each, rank * count + k) for each in every) for k in range(count)]
    if name == "allgather" or (name == "gather" and rank == ROOT):
        return [element_of(each, k) for each in every for k in range(count)]
    if name == "scatter":
        return [element_of(ROOT, rank * count + k) for k in range(count)]
    if name == "alltoall":
        return [element_of(each, rank * count + k) for each in every for k in range(count)]
    return None


def play_collectives(machine: Machine, rank: int, size: int, element: int, count: int, on: str) -> list[str]:
    """What was wrong, of all collectives with buffers of so many elements a block."""
    kind = ELEMENTS[element]
    wrong = []
    for name, (sources, destinations) in COLLECTIVES.items():
        lengths = [count * (size if blocks == "n" else 1) for blocks in (sources, destinations)]
        room = [max(8, length * ctypes.sizeof(kind)) for length in lengths]
        addresses = [machine.device(rank % 2, each) if on == "gpu" else machine.host(each) for each in room]
        source, destination = (
            (kind * length).from_address(address) for length, address in zip(lengths, addresses, strict=True)
        )
        for k in range(lengths[0]):
            source[k] = element_of(rank, k)
        ends: list[Any] = [ctypes.addressof(source), ctypes.addressof(destination)]
        if name == "broadcast":
            ctypes.memmove(destination, source, ctypes.sizeof(source))
            del ends[0]
        rooted = [ROOT] if name in ("broadcast", "reduce", "gather", "scatter") else []
        machine.call(name, *ends, count, element, *rooted, machine.world)
        wanted = expected(name, rank, size, count)
        got = [int(value) for value in destination]
        if wanted is not None and got != [value % 256 if element == BYTE else value for value in wanted]:
            wrong.append(f"{name}: {got[:20]}")
        if name != "broadcast" and [int(value) for value in source] != [
            element_of(rank, k) for k in range(lengths[0])
        ]:
            wrong.append(f"{name} changed its source")
    return wrong


#: A library that broadcasts by memory that all ranks read, and sums in buffers of its own.
OWN = {"mpi__shared_cell_bytes": 256, "mpi__kernel_reductions_from_bytes": 8 * toy.KIB}


@pytest.mark.parametrize("size", [2, 3, 4, 8])
@pytest.mark.parametrize("library", [{}, OWN], ids=["textbook", "own"])
@pytest.mark.parametrize(
    ("element", "count", "on"),
    [
        (FLOAT, 5, "host"),
        (FLOAT, 3001, "host"),
        (BYTE, 9001, "host"),
        (UNSIGNED64, 1, "host"),
        (FLOAT, 5, "gpu"),
        (FLOAT, 1001, "gpu"),
        (FLOAT, 3001, "gpu"),
    ],
)
def test_collectives_leave_the_right_elements(
    size: int, library: dict[str, int], element: int, count: int, on: str
) -> None:
    """Catches an element that is missed, added twice, or in another rank's place."""

    def scene() -> list[Any]:
        machine = Machine(toy.amd(**library))
        return machine.ranks(size, lambda rank: play_collectives(machine, rank, size, element, count, on))

    assert toy.apart(scene) == [[]] * size


@pytest.mark.parametrize("count", [5, 3001])
def test_collectives_in_place(count: int) -> None:
    """Catches an in-place call that reads what it has already overwritten."""
    names = ("allreduce", "reduce_scatter", "allgather", "alltoall")

    def scene() -> list[Any]:
        machine = Machine(toy.amd())
        size = 3

        def body(rank: int) -> list[str]:
            wrong = []
            for name in names:
                blocks = 1 if name == "allreduce" else size
                data = (ctypes.c_float * (count * blocks))()
                for k in range(len(data)):
                    own = k - rank * count if name == "allgather" else k
                    data[k] = element_of(rank, own) if own >= 0 else 0
                machine.call(name, None, data, count, FLOAT, machine.world)
                wanted = expected(name, rank, size, count) or []
                if [int(value) for value in data][: len(wanted)] != wanted:
                    wrong.append(name)
            return wrong

        return machine.ranks(size, body)

    assert toy.apart(scene) == [[], [], []]


@pytest.mark.parametrize("count", [5, 3001])
def test_scatter_in_place(count: int) -> None:
    """Catches a root's block that is moved, and a source that is looked for in the destination."""

    def scene() -> list[Any]:
        machine = Machine(toy.amd())

        def body(rank: int) -> list[int]:
            blocks = (ctypes.c_float * (3 * count))(*[element_of(rank, k) for k in range(3 * count)])
            part = (ctypes.c_float * count)()
            ends = (blocks, None) if rank == ROOT else (None, part)
            machine.call("scatter", *ends, count, FLOAT, ROOT, machine.world)
            return [int(value) for value in (blocks if rank == ROOT else part)]

        return machine.ranks(3, body)

    first, root, last = toy.apart(scene)
    assert (first, last) == (expected("scatter", 0, 3, count), expected("scatter", 2, 3, count))
    assert root == [element_of(ROOT, k) for k in range(3 * count)]


def test_a_slow_link_slows_down_a_collective() -> None:
    """Catches collectives that do not go over the machine's links."""

    def scene(fault: dict[str, str]) -> list[int]:
        machine = Machine(toy.amd(**fault))

        def body(rank: int) -> int:
            data = machine.device(rank, BIG)
            for _ in range(2):
                begin = machine.now()
                machine.call("allreduce", None, data, BIG // 4, FLOAT, machine.world)
            return machine.now() - begin

        return machine.ranks(2, body)

    whole = toy.apart(lambda: scene({}))
    half = toy.apart(lambda: scene({"faults__0": "slow:gpu0-gpu1:0.5"}))
    staged = toy.apart(lambda: scene({"faults__0": "down:gpu0-gpu1"}))
    assert all(1.2 * a < b < c for a, b, c in zip(whole, half, staged, strict=True))


def second_call_ns(name: str, size: int, on: str, ranks: int, **overrides: Any) -> list[int]:
    """What the second call of a collective takes each rank, all ranks having come to it."""
    machine = Machine(toy.amd(**overrides))

    def body(rank: int) -> int:
        data = machine.device(rank % 2, size) if on == "gpu" else machine.host(size)
        rooted = [0] if name == "broadcast" else []
        ends = [data] if name == "broadcast" else [None, data]
        for _ in range(2):
            machine.barrier()
            begin = machine.now()
            machine.call(name, *ends, size // 4, FLOAT, *rooted, machine.world)
        return machine.now() - begin

    return machine.ranks(ranks, body)


def test_a_short_broadcast_is_one_write_that_all_read() -> None:
    """Catches a broadcast in shared memory that costs a message for each rank or level of a tree."""
    cells = {"mpi__shared_cell_bytes": 256}

    def broadcast_ns(size: int, ranks: int, **library: Any) -> list[int]:
        return list(toy.apart(lambda: second_call_ns("broadcast", size, "host", ranks, **library)))

    two, eight = broadcast_ns(64, 2, **cells), broadcast_ns(64, 8, **cells)
    assert eight[0] == pytest.approx(two[0], abs=2 * CLOCK_NS)
    assert max(broadcast_ns(64, 8)) > max(eight) + SEND_NS
    assert broadcast_ns(512, 8, **cells) == broadcast_ns(512, 8)


@pytest.mark.parametrize(
    ("kib", "variable", "by_kernel"), [(64, "1", False), (256, "1", True), (256, "0", False)]
)
def test_short_reductions_of_device_memory_need_no_kernel(kib: int, variable: str, by_kernel: bool) -> None:
    """Catches a kernel for each sum of a reduction that the library makes in host memory, and the reverse."""

    def allreduce_ns(efficiency: float) -> int:
        own = {
            "mpi__kernel_reductions_from_bytes": 128 * toy.KIB,
            "rates.kernel-local__efficiency": efficiency,
        }
        environment = {"MPICH_GPU_ALLREDUCE_USE_KERNEL": variable}
        return int(
            toy.apart(lambda: second_call_ns("allreduce", kib * toy.KIB, "gpu", 2, **own), environment)[0]
        )

    assert (allreduce_ns(0.01) > allreduce_ns(0.4)) == by_kernel


def test_sums_of_what_eager_messages_brought_stay_short() -> None:
    """Catches sums of sums in memory kept as rules: each call doubled the time of reading one."""
    ranks, calls, count = 4, 30, 512

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())

        def body(rank: int) -> list[int]:
            size, peers = count * 8, ((rank + 1) % ranks, (rank - 1) % ranks)
            small, block = machine.host(size), machine.host(2 * toy.MIB)
            words = (ctypes.c_uint64 * count).from_address(small)
            words[:] = [1 + rank] * count
            machine.send(small, size, peers[0])
            machine.receive(block, size, peers[1])
            for _ in range(calls):
                machine.call("allreduce", None, block, count, UNSIGNED64, machine.world)
            machine.send(block, size, peers[0])
            machine.receive(small, size, peers[1])
            return sorted(set(words))

        return machine.ranks(ranks, body)

    assert toy.apart(scene) == [[10 * 4 ** (calls - 1)]] * ranks
