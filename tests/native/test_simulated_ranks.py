"""Ranks of one simulated machine: their clocks, whose turn it is, deadlocks, restarts, faults of ranks."""

from __future__ import annotations

import ctypes
import random
import threading
import time
from typing import Any

import pytest

from tests.native import simulated as toy
from tests.native.simulated_ranks import BYTE, FLOAT, Machine, MpiError

CLOCK_NS = 20


def exchange_all(machine: Machine, rank: int, size: int) -> list[int]:
    """A program of messages, collectives and device copies; the clock after each step."""
    dice = random.Random()  # of the host, not of the program: it only spoils the order of threads
    small, large = machine.host(4096), machine.host(65536)
    times = []
    for step in range(4):
        time.sleep(dice.random() / 2000)
        right, left = (rank + 1) % size, (rank - 1) % size
        if rank % 2 == 0:
            machine.send(small, 100 + 700 * rank, right, step)
            machine.receive(large, 65536, left, step)
        else:
            machine.receive(large, 65536, left, step)
            machine.send(large, 20000 + rank, right, step)
        times.append(machine.now())
        time.sleep(dice.random() / 2000)
        machine.call("allreduce", None, small, 700, FLOAT, machine.world)
        times.append(machine.now())
    for data in (small, large):
        machine.check(machine.library.bwsim_release(ctypes.c_void_p(data)))
    return times


def test_threads_do_not_change_what_happens() -> None:
    """Catches results that depend on how the operating system schedules the ranks' threads."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia(noise=0.01))
        runs = []
        for _ in range(20):
            machine.restart(7)
            runs.append(machine.ranks(4, lambda rank: exchange_all(machine, rank, 4)))
        return runs

    runs = toy.apart(scene)
    assert all(len(times) == 8 for times in runs[0]), runs[0]
    assert all(run == runs[0] for run in runs)
    assert len({times[-1] for times in runs[0]}) > 1  # each has a clock of its own


def test_each_rank_has_its_own_clock() -> None:
    """Catches one clock for all: what one rank spends, the others would pay."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())
        return machine.ranks(3, lambda rank: [machine.now() for _ in range(10 * (rank + 1))][-1])

    assert toy.apart(scene) == [CLOCK_NS * 10 * (rank + 1) for rank in range(3)]


def test_without_ranks_there_is_one_clock_again() -> None:
    """Catches a clock that goes back, or stays behind, when the ranks have left."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())
        before = machine.now()
        machine.ranks(2, lambda rank: [machine.now() for _ in range(50 * (rank + 1))])
        return [before, machine.now()]

    assert toy.apart(scene) == [CLOCK_NS, (1 + 100 + 1) * CLOCK_NS]


def test_a_thread_that_ends_holds_nobody_back() -> None:
    """Catches ranks that wait for ever for the clock of a thread that is gone."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())

        def body(rank: int) -> int:
            for _ in range(1 if rank == 0 else 100):
                machine.now()
            return machine.now()

        return machine.ranks(2, body, leave=False)

    assert toy.apart(scene) == [2 * CLOCK_NS, 101 * CLOCK_NS]


def test_a_timer_goes_off_when_its_time_comes() -> None:
    """Catches a timer that waits for the rank that started it, which waits for a message."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())
        data = machine.host(64)
        went_off = threading.Event()
        action = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: went_off.set())

        def body(rank: int) -> int:
            if rank == 0:
                machine.library.bwsim_start_timer(ctypes.c_int64(100_000), action, None)
                machine.receive(data, 8, 1)
                return machine.now()
            while not went_off.is_set():
                at = machine.now()
            machine.send(data, 8, 0)
            return at

        return machine.ranks(2, body)

    waited, at = toy.apart(scene)
    assert 101_000 <= at <= 101_000 + CLOCK_NS  # the buffer took one call
    assert waited > at


def test_a_deadlock_says_who_waits_for_whom() -> None:
    """Catches a hang, and an error that leaves open which rank is to blame."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())

        def each_receives(rank: int) -> Any:
            return machine.receive(machine.host(64), 8, (rank + 1) % 3)

        def one_does_not_come(rank: int) -> Any:
            if rank == 2:
                return None
            return machine.barrier()

        return [machine.ranks(3, each_receives), machine.ranks(3, one_does_not_come)]

    received, barrier = toy.apart(scene)
    ring = "; ".join(f"rank {rank} waits for rank {(rank + 1) % 3} in receive" for rank in range(3))
    assert received == [f"receive: deadlock in the simulated program: {ring}"] * 3
    text = "rank 0 waits for rank 2 in barrier; rank 1 waits for rank 2 in barrier; rank 2 has left"
    assert barrier == [f"barrier: deadlock in the simulated program: {text}"] * 2 + [None]


def test_ranks_go_on_after_a_deadlock() -> None:
    """Catches messages of a collective that failed which meet those of the next one."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia(faults__0="rank-throws:1:call=1"))

        def body(rank: int) -> list[Any]:
            failed = []
            for _ in range(2):
                values = (ctypes.c_float * 3)(rank, 10 * rank, 1)
                try:
                    machine.call("allreduce", None, values, 3, FLOAT, machine.world)
                except MpiError:
                    failed.append("allreduce")
                if rank == 1 and len(failed) == 1:  # not what the other one waits for
                    with pytest.raises(MpiError, match="rank 0 waits for rank 1 in allreduce"):
                        machine.receive(values, 8, 0)
                    failed.append("receive")
            return [failed, list(values)]

        return machine.ranks(2, body)

    assert toy.apart(scene) == [[["allreduce"], [1, 10, 2]], [["allreduce", "receive"], [1, 10, 2]]]


def test_a_restart_while_others_wait_in_mpi() -> None:
    """Catches ranks whose clocks, or messages, belong to the machine that was."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia(noise=0.02))

        def body(rank: int) -> list[int]:
            times = []
            for case in range(3):
                if rank == 1:
                    # The others' clocks are behind, so that they have reached the barrier before this ends.
                    for _ in range(1000):
                        machine.now()
                    machine.restart(case % 2)
                machine.barrier()
                data = machine.host(65536)
                if rank == 0:
                    machine.send(data, 65536, 2)
                elif rank == 2:
                    machine.receive(data, 65536, 0)
                times.append(machine.now())
                machine.check(machine.library.bwsim_release(ctypes.c_void_p(data)))
                machine.barrier()
            return times

        return machine.ranks(3, body)

    for times in toy.apart(scene):
        assert times[0] == times[2] != times[1]


def test_a_restart_is_refused_while_a_rank_has_memory() -> None:
    """Catches a machine that is taken away from under a rank that waits."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())

        def body(rank: int) -> Any:
            machine.barrier()
            if rank == 1:
                machine.host(64)
            answer = machine.library.bwsim_restart(ctypes.c_uint64(1)) if rank == 0 else 0
            machine.barrier()
            return answer

        return machine.ranks(2, body)

    assert toy.apart(scene) == [1, 0]  # invalid


@pytest.mark.parametrize("collective", ["barrier", "allreduce"])
def test_a_rank_throws(collective: str) -> None:
    """Catches a failure that only the rank itself learns of, while the others wait for ever."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia(faults__0="rank-throws:1:call=2"))

        def body(rank: int) -> None:
            values = (ctypes.c_float * 3)()
            for _ in range(2):
                if collective == "barrier":
                    machine.barrier()
                else:
                    machine.call("allreduce", None, values, 3, FLOAT, machine.world)

        return machine.ranks(2, body)

    first, second = toy.apart(scene)
    assert second == f"{collective}: rank 1 fails in its call 2 (fault)"
    assert first.endswith(f"rank 0 waits for rank 1 in {collective}; rank 1 has left")


def test_a_rank_never_enters() -> None:
    """Catches a rank that comes after all, and others that never end."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia(faults__0="rank-never-enters:1"))
        return machine.ranks(2, lambda rank: machine.barrier())

    for text in toy.apart(scene):
        assert text.endswith(
            "rank 0 waits for rank 1 in barrier; rank 1 waits for nothing: it never enters barrier (fault)"
        )


def test_a_rank_dies() -> None:
    """Catches a dead rank that sends, receives, or holds the others back."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia(faults__0="rank-dies:1:call=2"))

        def body(rank: int) -> list[str]:
            texts = []
            for _ in range(3):
                try:
                    machine.barrier()
                    texts.append("")
                except MpiError as error:
                    texts.append(str(error))
            return texts

        return machine.ranks(3, body)

    first, second, third = toy.apart(scene)
    assert second == ["", "barrier: rank 1 dies in its call 2 (fault)", "barrier: this rank is dead"]
    for texts in (first, third):
        assert texts[0] == ""
        assert all("rank 1 is dead" in text and "waits for rank 1 in barrier" in text for text in texts[1:])


def test_memory_is_opened_by_its_handle() -> None:
    """Catches a handle that leads elsewhere, that costs nothing, or that a rank opens to itself."""
    granule_ns, copied = 3000.0, 512 * toy.KIB

    class Handle(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_ubyte * 64)]

    def scene() -> list[Any]:
        machine = Machine(toy.amd(memory__granule_ns=granule_ns))
        library = machine.library

        def body(rank: int) -> list[Any]:
            data, handle, opened = machine.device(rank, copied), Handle(), ctypes.c_void_p()
            words = (ctypes.c_uint64 * (copied // 8)).from_address(data)
            if rank == 0:
                words[5], words[6] = 55, 66
                assert library.hipIpcGetMemHandle(ctypes.byref(handle), ctypes.c_void_p(data)) == 0
                machine.send(ctypes.byref(handle), 64, 1)
                own = library.hipIpcOpenMemHandle(ctypes.byref(opened), handle, 1)
                machine.barrier()
                return [own]
            machine.receive(ctypes.byref(handle), 64, 0)
            begin = machine.now()
            assert library.hipIpcOpenMemHandle(ctypes.byref(opened), handle, 1) == 0
            took = machine.now() - begin
            machine.copy(data, int(opened.value or 0), copied)
            closed = library.hipIpcCloseMemHandle(opened)
            machine.barrier()
            return [words[5], words[6], took, closed]

        alone, handle, opened = ctypes.c_void_p(machine.device(0, 64)), Handle(), ctypes.c_void_p()
        assert library.hipIpcGetMemHandle(ctypes.byref(handle), alone) == 0
        without_ranks = library.hipIpcOpenMemHandle(ctypes.byref(opened), handle, 1)
        return [without_ranks, *machine.ranks(2, body)]

    same_process, enqueue_ns = 201, 1000
    took = enqueue_ns + granule_ns + CLOCK_NS
    assert toy.apart(scene) == [same_process, [same_process], [55, 66, took, 0]]


def test_freeing_waits_for_the_own_rank_alone() -> None:
    """Catches a rank that frees memory and waits for what another rank has enqueued, which waits for it."""

    def scene() -> list[Any]:
        machine = Machine(toy.amd())
        size = 64 * toy.MIB

        def body(rank: int) -> list[int]:
            data, other = machine.device(rank, size), machine.device(rank, size)
            machine.barrier()
            begin = machine.now()
            if rank == 0:
                to, source = ctypes.c_void_p(other), ctypes.c_void_p(data)
                assert machine.library.hipMemcpyAsync(to, source, ctypes.c_size_t(size), 4, None) == 0
            else:
                for _ in range(100):  # the copy has begun
                    machine.now()
            assert machine.library.hipFree(ctypes.c_void_p(other)) == 0
            return [machine.now() - begin]

        return machine.ranks(2, body)

    (busy,), (free,) = toy.apart(scene)
    assert busy > 64 * toy.MIB / toy.RATES["blit-local"] * 1e9
    assert free == 101 * CLOCK_NS


def test_what_a_rank_left_behind_is_not_touched() -> None:
    """Catches a message that is written into the buffer of a rank that is gone."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())
        left = (ctypes.c_ubyte * 20000)()

        def body(rank: int) -> None:
            if rank == 0:
                request = ctypes.c_uint64()
                machine.call("start_receive", left, 20000, BYTE, 1, 0, machine.world, ctypes.byref(request))
                return
            for _ in range(10):
                machine.now()
            machine.send(b"\1" * 20000, 20000, 0)

        return [*machine.ranks(2, body), sum(left)]

    first, second, written = toy.apart(scene)
    assert (first, written) == (None, 0)
    assert second.endswith("rank 0 has left; rank 1 waits for rank 0 in send")
