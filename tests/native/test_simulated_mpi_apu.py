"""The simulated MPI where CPU and GPU share one memory: what engines, cores and pages cost it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated_ranks import UNSIGNED64, Machine
from tests.native.test_simulated_mpi import (
    BIG,
    CACHED,
    ENQUEUE_NS,
    HANDSHAKE_NS,
    RECEIVE_NS,
    SEND_NS,
    SYNCHRONIZE_NS,
    ping_pong,
)

ENGINE_NS, PART = 60000.0, 0.5
MEETING_NS = SEND_NS + 2 * HANDSHAKE_NS + RECEIVE_NS
REMOTE = 5 * toy.GB  # of a core in another domain's memory
WITHOUT_ENGINES = {"HSA_ENABLE_SDMA": "0"}


def apu(**numbers: Any) -> str:
    return toy.amd(features__host_access=1, features__pageable_access=1, **numbers)


def one_way(machine: Machine, source: int, destination: int, size: int) -> float:
    """Time of the second message from rank 0 to rank 1, in nanoseconds, by the clock of rank 1."""

    def body(rank: int) -> float:
        begin = 0
        for _ in range(2):  # the first opens the buffer
            machine.barrier()
            begin = machine.now()
            if rank == 0:
                machine.send(source, size, 1)
            else:
                machine.receive(destination, size, 0)
        return float(machine.now() - begin)

    _, received = machine.ranks(2, body)
    assert isinstance(received, float), received
    return received


@pytest.mark.parametrize(
    ("environment", "copy_ns", "rate"),
    [({}, ENGINE_NS, "engine-peer-read"), (WITHOUT_ENGINES, toy.FIXED_NS["blit"], "blit-peer-read")],
    ids=["engines", "kernels"],
)
@pytest.mark.parametrize("size", [64 * toy.KIB, BIG])
def test_what_a_copy_by_engines_takes_beyond_its_bytes(
    environment: Mapping[str, str], copy_ns: float, rate: str, size: int
) -> None:
    """Catches an engine's request that is charged to kernels, or on top of another fixed time."""

    def scene() -> list[float]:
        machine = Machine(toy.amd(mpi__engine_ns=ENGINE_NS))
        return ping_pong(machine, lambda rank: machine.device(rank, size), size, 2)

    half = MEETING_NS + ENQUEUE_NS + copy_ns + size / toy.RATES[rate] * 1e9 + SYNCHRONIZE_NS
    assert toy.apart(scene, environment)[1] == pytest.approx(half, abs=1.0)


@pytest.mark.parametrize(
    ("to", "environment", "rate"),
    [
        ("host", {}, PART * toy.RATES["engine-peer-read"]),
        ("gpu", {}, toy.RATES["engine-peer-read"]),
        ("host", WITHOUT_ENGINES, toy.RATES["blit-peer-read"]),
    ],
)
def test_engines_are_slower_on_pages_of_the_system(
    to: str, environment: Mapping[str, str], rate: float
) -> None:
    """Catches a rate that pages do not change, one that they change for kernels, and for memory of a GPU."""

    def scene() -> float:
        machine = Machine(apu(mpi__engine_system_part=PART))
        target = machine.host(BIG, 1) if to == "host" else machine.device(1, BIG)
        return one_way(machine, machine.device(0, BIG), target, BIG)

    assert toy.apart(scene, environment) == pytest.approx(BIG / rate * 1e9, rel=0.01)


@pytest.mark.parametrize(("domain", "rate"), [(0, CACHED), (1, REMOTE)])
def test_what_another_domain_has_written_is_in_no_cache_of_the_receiver(domain: int, rate: float) -> None:
    """Catches messages between domains at the rate of a cache: as fast as 40 GB/s for 5."""
    size = 64 * toy.KIB

    def scene() -> float:
        machine = Machine(toy.nvidia())
        return one_way(machine, machine.host(size, domain), machine.host(size, 0), size)

    spent = toy.apart(scene) - size / rate * 1e9
    assert 0 < spent < 3000.0  # both meet; where one core reads the other's memory, that is 13 µs


def test_cores_sum_short_device_buffers() -> None:
    """Catches a sum of two words that waits for a kernel where the core reaches the memory, and a long one
    that does not use the GPU."""

    def scene() -> list[float]:
        machine = Machine(apu(mpi__ipc_core_bytes=4096))

        def body(rank: int) -> list[float]:
            times = []
            for words in (2, 512, 513):
                data = machine.device(rank, 65536)
                machine.barrier()
                begin = machine.now()
                machine.call("allreduce", None, data, words, UNSIGNED64, machine.world)
                times.append(float(machine.now() - begin))
            return times

        return [max(each) for each in zip(*machine.ranks(2, body), strict=True)]

    least, most, beyond = toy.apart(scene)
    assert least < most < 2000.0 + ENQUEUE_NS < beyond


@pytest.mark.parametrize(
    ("cores", "environment", "rate"),
    [
        (1, {}, 2 / 3 * REMOTE),  # two arrays are read and one is written; both ranks are in domain 0
        (1, {"MPICH_GPU_ALLREDUCE_USE_KERNEL": "1"}, 2 / 3 * toy.RATES["kernel-local"]),
        (0, {}, 2 / 3 * toy.RATES["kernel-local"]),
        (0, {"MPICH_GPU_ALLREDUCE_USE_KERNEL": "0"}, 2 / 3 * REMOTE),
    ],
)
def test_cores_or_kernels_sum_what_is_long(cores: int, environment: Mapping[str, str], rate: float) -> None:
    """Catches a variable without effect, and sums of 128 MiB that nobody pays for."""
    size = 128 * toy.MIB

    def scene() -> float:
        machine = Machine(apu(mpi__core_reductions=cores))

        def body(rank: int) -> float:
            source, target = machine.device(rank, 2 * size), machine.device(rank, size)
            machine.barrier()
            begin = machine.now()
            machine.call("reduce_scatter", source, target, size // 8, UNSIGNED64, machine.world)
            return float(machine.now() - begin)

        return max(machine.ranks(2, body))

    moved = size / toy.RATES["engine-peer-read"] + size / toy.RATES["blit-local"]
    assert toy.apart(scene, environment) == pytest.approx((moved + size / rate) * 1e9, rel=0.05)


@pytest.mark.parametrize(
    ("memory", "toucher", "part"),
    [
        ("device", "gpu", PART),
        ("device", "cpu", 1.0),
        ("pageable", "gpu", PART),
        ("pageable", "cpu", 1.0),
        ("pinned", "gpu", 1.0),
        ("pinned", "cpu", 1.0),
    ],
)
def test_a_core_is_slower_where_a_gpu_has_touched_first(memory: str, toucher: str, part: float) -> None:
    """Catches first touch without effect, one that lasts in page-locked memory, and the wrong toucher."""
    size = 64 * toy.MIB

    def scene(session: _core.Session) -> float:
        owner = "gpu" if memory == "device" else "cpu"
        ends = [session.allocate(f"{owner}{n}", memory, size, f"{toucher}{n}") for n in (0, 1)]
        flow = _core.Flow(*ends, "cpu0", "memcpy", size)
        return float(session.measure([flow], toy.options()).flows[0].bytes_per_s or 0)

    found = toy.play(apu(cpu__gpu_touched_part=PART), scene, {"HSA_XNACK": "1"})
    assert found == pytest.approx(part * REMOTE, rel=0.01)
