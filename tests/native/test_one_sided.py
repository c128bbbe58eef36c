"""Puts and gets of the simulated MPI: what they move, what they take, and how a measurement verifies them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from tests.native import simulated as toy
from tests.native.simulated_ranks import BYTE, Machine
from tests.native.test_carried_ranks import Ranks
from tests.native.test_simulated_mpi import (
    BIG,
    CACHED,
    CLOCK_NS,
    ENQUEUE_NS,
    REGISTRATION_NS,
    SEND_NS,
    SYNCHRONIZE_NS,
)

CALLS = ("put", "get")


def one_by_one(machine: Machine, buffers: Callable[[int], int], size: int, call: str) -> list[float]:
    """What each of three transfers of rank 0 takes with its flush, in nanoseconds."""

    def body(rank: int) -> list[float]:
        window = machine.window(buffers(rank), size)
        data = buffers(rank)
        machine.call("lock_all", window)
        machine.barrier()
        times = []
        for _ in range(3 * (rank == 0)):
            begin = machine.now()
            machine.call(call, data, size, BYTE, 1, 0, window)
            machine.call("flush", 1, window)
            times.append(machine.now() - begin - CLOCK_NS)
        machine.barrier()
        return times

    first, _ = machine.ranks(2, body)
    assert isinstance(first, list), first
    return first


@pytest.mark.parametrize("call", CALLS)
def test_a_core_moves_host_memory_by_itself(call: str) -> None:
    """Catches a put that waits for the other rank, and an overhead that is charged twice, or not at all."""

    def scene() -> list[float]:
        machine = Machine(toy.nvidia())
        return one_by_one(machine, lambda _: machine.host(64), 8, call)

    times = toy.apart(scene)
    assert times[1:] == [pytest.approx(SEND_NS + CLOCK_NS + 2 * 8 / CACHED * 1e9, abs=1.0)] * 2


@pytest.mark.parametrize(("call", "rate"), [("put", "blit-peer-write"), ("get", "blit-peer-read")])
def test_the_gpu_of_the_rank_that_calls_moves_device_memory(call: str, rate: str) -> None:
    """Catches a put that the other rank's GPU carries out, and memory that is opened for each transfer."""

    def scene() -> list[float]:
        machine = Machine(toy.amd(mpi__ipc_by_engine=0))
        return one_by_one(machine, lambda rank: machine.device(rank, BIG), BIG, call)

    times = toy.apart(scene)
    copy_ns = toy.FIXED_NS["blit"] + BIG / toy.RATES[rate] * 1e9
    launched = SEND_NS + CLOCK_NS + ENQUEUE_NS + copy_ns + SYNCHRONIZE_NS
    assert times[0] == pytest.approx(launched + REGISTRATION_NS, rel=1e-5)
    assert times[1:] == [pytest.approx(launched, rel=1e-5)] * 2


def test_bytes_arrive_where_they_are_sent_and_nowhere_else() -> None:
    """Catches an offset that is lost, a get that writes, and a transfer beyond the exposed memory."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())

        def body(rank: int) -> list[Any]:
            exposed, own = (ctypes.c_ubyte * 8)(*range(8)), (ctypes.c_ubyte * 8)(*[90 + rank] * 8)
            window = machine.window(ctypes.addressof(exposed), 8)
            machine.call("fence", window)
            if rank == 0:
                machine.call("put", ctypes.addressof(own), 2, BYTE, 1, 3, window)
                machine.call("get", ctypes.addressof(own) + 4, 2, BYTE, 1, 6, window)
            machine.call("fence", window)
            words = [*exposed, *own]
            machine.barrier()
            if rank == 0:
                machine.call("put", ctypes.addressof(own), 4, BYTE, 1, 5, window)
            return words

        return machine.ranks(2, body)

    first, second = toy.apart(scene)
    assert isinstance(first, str) and "exposes 8 bytes" in first
    assert second == [0, 1, 2, 90, 90, 5, 6, 7, *[91] * 8]


@pytest.mark.parametrize("fault", [False, True])
@pytest.mark.parametrize("operation", ["unidirectional", "bidirectional"])
@pytest.mark.parametrize("sync", ["flush", "fence"])
@pytest.mark.parametrize("interface", ["mpi-put", "mpi-get"])
def test_transfers_are_verified(interface: str, sync: str, operation: str, fault: bool) -> None:
    """Catches a measurement that hangs, that takes anything for its data, or that reads them before the
    transfers are done.
    """

    def scene() -> list[Any]:
        faults = {"faults__0": "corrupt:cpu0>cpu0:word=3"} if fault else {}
        ranks = Ranks(toy.nvidia(**faults))
        return ranks.between_ranks(interface, operation, 4 * toy.KIB, sync=sync)

    results = toy.apart(scene)
    receiving = results if operation == "bidirectional" else results[1:]
    assert all(isinstance(result, list) for result in results), results
    assert all(verified != fault for _, _, verified in receiving), results


@pytest.mark.parametrize("interface", ["mpi-put", "mpi-get"])
def test_a_window_completes_many_transfers_together(interface: str) -> None:
    """Catches a flush after each transfer, whatever the window."""

    def scene() -> list[Any]:
        ranks = Ranks(toy.nvidia())
        return [
            ranks.between_ranks(interface, "unidirectional", 64, **words)[0] for words in ({}, {"window": 1})
        ]

    many, single = toy.apart(scene)
    each = [min(samples) / batch for samples, batch, _ in (many, single)]
    assert each[0] < each[1] and many[1] % 64 == 0
