"""The simulated MPI: what messages cost, which meet, and that blocks carry their bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from tests.native import simulated as toy
from tests.native.simulated_ranks import BYTE, UNSIGNED64, Machine, MpiError

EAGER = 8 * toy.KIB
SEND_NS, RECEIVE_NS, HANDSHAKE_NS, REGISTRATION_NS = 300.0, 170.0, 510.0, 70000.0
ENQUEUE_NS, CLOCK_NS, SYNCHRONIZE_NS = 1000.0, 20.0, 2000.0
#: From one core's store until another one sees it: half a load of the last cache, and one.
NOTICE_NS = 1.5 * 4.0
CACHED = 40 * toy.GB
BIG = 256 * toy.MIB


def ping_pong(machine: Machine, buffers: Callable[[int], int], size: int, trips: int = 1) -> list[float]:
    """Half of each round trip between ranks 0 and 1, in nanoseconds, by the clock of rank 0."""

    def body(rank: int) -> list[float]:
        data = buffers(rank)
        machine.barrier()
        halves = []
        for _ in range(trips):
            begin = machine.now()
            if rank == 0:
                machine.send(data, size, 1)
                machine.receive(data, size, 1)
            else:
                machine.receive(data, size, 0)
                machine.send(data, size, 0)
            halves.append((machine.now() - begin - CLOCK_NS) / 2)
        return halves

    first, _ = machine.ranks(2, body)
    assert isinstance(first, list), first
    return first


def test_a_small_message_takes_what_the_parameters_say() -> None:
    """Catches an overhead that is charged twice, or not at all."""

    def scene() -> list[float]:
        machine = Machine(toy.nvidia())
        return ping_pong(machine, lambda _: machine.host(64), 8, 3)

    half = SEND_NS + NOTICE_NS + RECEIVE_NS + 2 * 8 / CACHED * 1e9
    # The first receive of a rank may be posted later than the message comes.
    assert toy.apart(scene)[1:] == [pytest.approx(half, abs=1.0)] * 2


def test_beyond_the_threshold_sender_and_receiver_meet_first() -> None:
    """Catches a threshold off by one, a rendezvous that copies twice, and caches that hold anything."""

    def scene() -> list[list[float]]:
        machine = Machine(toy.nvidia())
        sizes = (EAGER, EAGER + 8, BIG)
        return [ping_pong(machine, lambda _: machine.host(BIG), size, 2) for size in sizes]

    eager, rendezvous, big = toy.apart(scene)
    assert eager[1] == pytest.approx(SEND_NS + NOTICE_NS + RECEIVE_NS + 2 * EAGER / CACHED * 1e9, abs=1.0)
    assert rendezvous[1] == pytest.approx(
        SEND_NS + 2 * HANDSHAKE_NS + RECEIVE_NS + (EAGER + 8) / CACHED * 1e9, abs=1.0
    )
    assert big[1] == pytest.approx(BIG / toy.CORE_COPY * 1e9, rel=1e-3)


def test_device_messages_go_by_core_then_by_opened_memory_then_by_gpu() -> None:
    """Catches a short device message that waits for a GPU, a threshold that is off, and a copy of MPI that
    takes the fixed time of another one.
    """
    mapped, opened_ns, copy_ns = 2 * toy.GB, 900.0, 7000.0

    def scene() -> list[list[float]]:
        sheet = toy.amd(
            mpi__ipc_from_bytes=1024,
            mpi__core_device_bytes_per_s=mapped,
            mpi__ipc_core_bytes=4096,
            mpi__ipc_core_ns=opened_ns,
            mpi__copy_ns=copy_ns,
        )
        machine = Machine(sheet)
        sizes = (1016, 1024, 4096, 4104)
        return [ping_pong(machine, lambda rank: machine.device(rank, 65536), size, 3) for size in sizes]

    eager, first, last, by_gpu = (halves[-1] for halves in toy.apart(scene))
    assert eager == pytest.approx(SEND_NS + NOTICE_NS + RECEIVE_NS + 2 * 1016 / mapped * 1e9, abs=20.0)
    opened = SEND_NS + 2 * HANDSHAKE_NS + RECEIVE_NS + opened_ns
    assert first == last == pytest.approx(opened, abs=1.0)
    moved_ns = 4104 / toy.RATES["engine-peer-read"] * 1e9
    launched = ENQUEUE_NS + copy_ns + moved_ns + SYNCHRONIZE_NS
    assert by_gpu == pytest.approx(opened - opened_ns + launched, abs=1.0)


@pytest.mark.parametrize(("engine", "rate"), [(1, "engine-peer-read"), (0, "blit-peer-read")])
@pytest.mark.parametrize("once", [1, 0])
def test_a_large_device_message_has_the_rate_of_the_copy(engine: int, rate: str, once: int) -> None:
    """Catches a figure of MPI that does not come from the model's own transfers, and registration that is
    paid at the wrong time.
    """

    def scene() -> list[float]:
        machine = Machine(toy.amd(mpi__ipc_by_engine=engine, mpi__registers_once=once))
        return ping_pong(machine, lambda rank: machine.device(rank, BIG), BIG, 3)

    halves = toy.apart(scene)
    copy_ns = toy.FIXED_NS[rate.split("-")[0]] + BIG / toy.RATES[rate] * 1e9
    half = SEND_NS + 2 * HANDSHAKE_NS + RECEIVE_NS + ENQUEUE_NS + copy_ns + SYNCHRONIZE_NS
    again = 0 if once else REGISTRATION_NS
    assert halves[0] == pytest.approx(half + REGISTRATION_NS, rel=1e-5)
    assert halves[1:] == [pytest.approx(half + again, rel=1e-5)] * 2


def test_what_no_link_joins_is_staged_in_pieces() -> None:
    """Catches a copy over a link that is not there, and pieces that wait for each other needlessly."""

    def scene() -> list[float]:
        machine = Machine(toy.amd(faults__0="down:gpu0-gpu1"))
        return ping_pong(machine, lambda rank: machine.device(rank, BIG), BIG)

    (half,) = toy.apart(scene)
    piece = 256 * toy.KIB
    slower = toy.FIXED_NS["engine"] + piece / toy.RATES["engine-host-write"] * 1e9
    assert half == pytest.approx(BIG / piece * slower, rel=0.01)


def test_concurrent_messages_share_a_link() -> None:
    """Catches messages that do not contend: each as fast as if it were alone."""

    def scene() -> list[float]:
        machine = Machine(toy.amd())

        def times(pairs: int) -> float:
            def body(rank: int) -> float:
                data = machine.device(rank % 2, BIG)
                for _ in range(2):  # registered in the first
                    machine.barrier()
                    begin = machine.now()
                    if rank % 2 == 0:
                        machine.send(data, BIG, rank + 1)
                    else:
                        machine.receive(data, BIG, rank - 1)
                    took = machine.now() - begin
                return took

            return max(machine.ranks(2 * pairs, body))

        return [times(1), times(2)]

    alone, both = toy.apart(scene)
    assert both / alone == pytest.approx(2, rel=0.01)


def test_device_memory_is_refused_where_mpi_does_not_know_it() -> None:
    """Catches an MPI without support for GPUs that takes their memory all the same."""

    def scene() -> list[Any]:
        machine = Machine(toy.amd(mpi__gpu_aware=0))
        support = ctypes.c_int(-1)
        machine.call("device_support", b"hip", ctypes.byref(support))
        data = machine.device(0, 64)
        with pytest.raises(MpiError) as error:
            machine.send(data, 8, 0)
        return [support.value, str(error.value)]

    assert toy.apart(scene) == [0, "send: this MPI takes no device memory"]


def test_a_lost_gpu_fails_the_message() -> None:
    """Catches a message that leaves a GPU which does not answer, and an error that stays with one end."""

    def scene() -> list[Any]:
        machine = Machine(toy.amd(faults__0="lost:gpu1:after=1"))

        def body(rank: int) -> None:
            data = machine.device(rank, BIG)
            for _ in range(2):
                if rank == 0:
                    machine.send(data, BIG, 1)
                else:
                    machine.receive(data, BIG, 0)

        return machine.ranks(2, body)

    assert [text.split(": ", 1)[1] for text in toy.apart(scene)] == ["gpu1 does not answer any more"] * 2


def test_messages_meet_in_order_by_source_and_tag() -> None:
    """Catches a message that overtakes another one, or meets a receive that is for another tag."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())

        def body(rank: int) -> list[int]:
            got = []
            for size in (1, EAGER * 4):  # the first of tag 7 is eager, the second is not
                data = (ctypes.c_ubyte * size)(*[50 + rank] * size)
                if rank > 0:
                    machine.send(data, size, 0, 7)
                    data[0] += 10
                    machine.send(data, 1, 0, 8)
            if rank == 0:
                for source, tag in ((2, 8), (1, 7), (2, 7), (1, 7), (1, 8), (2, 7), (2, 8), (1, 8)):
                    room = (ctypes.c_ubyte * (EAGER * 4))()
                    machine.receive(room, len(room), source, tag)
                    got += [room[0], sum(1 for byte in room if byte)]
            return got

        def nonblocking(rank: int) -> list[int]:
            """Rank 0 posts its receives first, and in another order than the messages come."""
            count = 3
            requests = (ctypes.c_uint64 * count)()
            data = [(ctypes.c_ubyte * 4)(rank, each, 0, 0) for each in range(count)]
            for each in range(count) if rank else (2, 0, 1):
                request = ctypes.byref(requests, 8 * each)
                request = ctypes.cast(request, ctypes.POINTER(ctypes.c_uint64))
                name = "start_send" if rank else "start_receive"
                machine.call(name, data[each], 4, BYTE, 1 - rank, each, machine.world, request)
            machine.call("wait_all", count, requests)
            return [*(one[0] * 10 + one[1] for one in data), *requests]

        return [machine.ranks(3, body)[0], machine.ranks(2, nonblocking)]

    blocking, nonblocking = toy.apart(scene)
    assert blocking is not None
    firsts, counts = blocking[::2], blocking[1::2]
    assert firsts == [62, 51, 52, 51, 61, 52, 62, 61]
    assert counts == [1, 1, 1, 4 * EAGER, 1, 4 * EAGER, 1, 1]
    assert nonblocking == [[10, 11, 12, 0, 0, 0]] * 2


def test_sends_that_wait_for_each_other_are_a_deadlock_beyond_the_threshold() -> None:
    """Catches a rendezvous that is buffered, and an eager message that waits for its receiver."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())

        def both_send_first(size: int) -> list[Any]:
            def body(rank: int) -> None:
                data = (ctypes.c_ubyte * size)()
                machine.send(data, size, 1 - rank)
                machine.receive(data, size, 1 - rank)

            return machine.ranks(2, body)

        return [both_send_first(EAGER), both_send_first(EAGER + 1)]

    eager, rendezvous = toy.apart(scene)
    assert eager == [None, None]
    assert all("rank 0 waits for rank 1 in send" in text for text in rendezvous)


def test_a_message_that_is_longer_than_its_receive_fails() -> None:
    """Catches bytes that are written behind a buffer."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())

        def body(rank: int) -> int:
            data = (ctypes.c_ubyte * 8)()
            if rank == 0:
                machine.send(b"\1" * 8, 8, 1)
            else:
                with pytest.raises(MpiError, match="a message of 8 bytes met a receive of 4"):
                    machine.receive(data, 4, 0)
            return sum(data)

        return machine.ranks(2, body)

    assert toy.apart(scene) == [0, 0]


@pytest.mark.parametrize("size", [3 * toy.MIB, 2 * toy.MIB + 24])
def test_large_blocks_carry_their_bytes(size: int) -> None:
    """Catches content that stays behind, or that is shifted, where memory is addresses only."""
    piece, offset = 512 * toy.KIB, 8

    def scene() -> list[Any]:
        machine = Machine(toy.amd())

        def body(rank: int) -> list[int]:
            big, small = machine.device(rank, size), machine.device(rank, piece)
            words = (ctypes.c_uint32 * (piece // 4)).from_address(small)
            parts = [(at, min(piece, size - at)) for at in range(0, size, piece)]
            for at, length in parts if rank == 0 else ():
                for k in range(piece // 4):
                    words[k] = at + 4 * k
                machine.copy(big + at, small, length)
            if rank == 0:
                machine.send(big, size - offset, 1)
                return []
            machine.receive(big + offset, size - offset, 0)
            seen = []
            for at, length in parts:
                machine.copy(small, big + at, length)
                seen += [words[0], words[length // 4 - 1]]
            return seen

        return machine.ranks(2, body)[1]

    parts = [(at, min(piece, size - at)) for at in range(0, size, piece)]
    expected = [value - offset for at, length in parts for value in (at, at + length - 4)]
    assert toy.apart(scene) == [0, *expected[1:]]


def test_split_makes_parts_of_their_own() -> None:
    """Catches ranks in the wrong order, and messages that reach another part."""

    def scene() -> list[Any]:
        machine = Machine(toy.nvidia())

        def body(rank: int) -> list[Any]:
            part, number, size = ctypes.c_uint64(), ctypes.c_int(), ctypes.c_int()
            color = -1 if rank == 4 else rank % 2
            machine.call("split", machine.world, color, -rank, ctypes.byref(part))
            if color < 0:
                return [part.value]
            machine.call("rank", part, ctypes.byref(number))
            machine.call("size", part, ctypes.byref(size))
            value = ctypes.c_uint64(10**rank)
            machine.call("allreduce", None, ctypes.byref(value), 1, UNSIGNED64, part)
            return [number.value, size.value, value.value]

        return machine.ranks(5, body)

    assert toy.apart(scene) == [[1, 2, 101], [1, 2, 1010], [0, 2, 101], [0, 2, 1010], [0]]


@pytest.mark.parametrize("apu", [0, 1])
def test_cores_of_several_ranks_share_the_memory_of_their_domain(apu: int) -> None:
    """Catches cores that each have all of the memory of a domain, on an APU too, where it is the GPU's."""
    rate = 10 * toy.GB  # of loads or of stores: together, a copy has half

    def scene() -> list[float]:
        slow = {"cpu__read_bytes_per_s": rate, "cpu__write_bytes_per_s": rate}
        machine = Machine(toy.amd(features__host_access=apu, **slow))

        def body(rank: int, pairs: int) -> float:
            data = machine.host(BIG)
            machine.barrier()
            begin = machine.now()
            if rank < 2 * pairs and rank % 2 == 0:
                machine.send(data, BIG, rank + 1)
            elif rank < 2 * pairs:
                machine.receive(data, BIG, rank - 1)
            return float(machine.now() - begin)

        return [max(machine.ranks(4, lambda rank, each=pairs: body(rank, each))) for pairs in (1, 2)]

    one, two = toy.apart(scene)
    assert one == pytest.approx(BIG / (rate / 2) * 1e9, rel=1e-3)
    assert two == pytest.approx(2 * one, rel=1e-3)
