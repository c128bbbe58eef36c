"""Interfaces that only write or only read: proved word by word or by their sum, timed as the buffer lies."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, MIB, RATES

SIZE = 8 * MIB


def flow(
    session: _core.Session, interface: str, array: str, executor: str, size: int, **more: Any
) -> _core.Flow:
    """A flow over one new buffer, `device:memory`."""
    room = more.pop("room", size)
    device, memory = array.split(":")
    if device.startswith("gpu") and executor.startswith("gpu") and device != executor:
        assert session.prove_peer(executor, device).available
    buffer = session.allocate(device, memory, room, device)
    return _core.Flow(buffer, buffer, executor, interface, size, **more)


@pytest.mark.parametrize("interface", ["store", "memset", "load"])
#: test_host_loops.py has other sizes, for each instruction set.
@pytest.mark.parametrize(("size", "threads"), [(16, 1), (MIB + 48, 3)])
def test_the_host_s_loops_are_right(
    host_session: _core.Session, interface: str, size: int, threads: int
) -> None:
    """Would catch a loop that loses its tail or a member's share, a slot left out, and a false alarm."""
    options = _core.MeasureOptions()
    options.budget_s, options.max_samples = 0.02, 10
    measured = host_session.measure(
        [flow(host_session, interface, "cpu0:pageable", "cpu0", size, threads=threads, room=3 * MIB)], options
    )
    assert measured.verified and measured.engine == "cpu"
    [result] = measured.flows
    assert result.verification.checked_bytes > 0 and result.blocks == threads
    assert result.bytes_per_s == pytest.approx(size / measured.time_ns.median * 1e9)


@pytest.mark.parametrize(
    ("interface", "array", "rate"),
    [
        ("store", "gpu0:device", 2 * RATES["kernel-local"]),  # the model's is of a copy, which reads as well
        ("memset", "gpu0:device", 2 * RATES["kernel-local"]),
        ("load", "gpu0:device", 2 * RATES["kernel-local"]),
        ("store", "gpu1:device", RATES["kernel-peer-write"]),
        ("load", "gpu1:device", RATES["kernel-peer-read"]),
        ("memset", "gpu1:device", RATES["kernel-peer-write"]),
        ("store", "cpu0:pinned", RATES["kernel-host-write"]),
        ("memset", "cpu0:pinned", RATES["kernel-host-write"]),
        ("load", "cpu0:pinned", RATES["kernel-host-read"]),
    ],
)
def test_bytes_go_one_way(interface: str, array: str, rate: float) -> None:
    """Catches a model in which stores read, or loads write, and bytes on the other direction's link."""

    def scene(session: _core.Session) -> Any:
        measured = session.measure([flow(session, interface, array, "gpu0", SIZE)], toy.options())
        return measured.time_ns.median, measured.verified, measured.engine

    time_ns, right, engine = toy.play(toy.nvidia(), scene)
    assert right and engine == "kernel"
    assert time_ns == pytest.approx(FIXED_NS["kernel"] + SIZE / rate * 1e9, rel=1e-3)


@pytest.mark.parametrize("interface", ["store", "memset", "load"])
@pytest.mark.parametrize("fault", ["corrupt:gpu0>gpu0:word=77", "skip:gpu0>gpu0"])
@pytest.mark.parametrize("size", [64 * 1024, SIZE], ids=["real", "described"])
def test_what_is_wrong_is_found(interface: str, fault: str, size: int) -> None:
    """Fail closed. Catches words that were not written, or not read, and count as transferred."""

    def scene(session: _core.Session) -> Any:
        [result] = session.measure(
            [flow(session, interface, "gpu0:device", "gpu0", size)], toy.options(batch=4, max_samples=3)
        ).flows
        return result.verification.ok

    assert toy.play(toy.nvidia(), scene)
    assert not toy.play(toy.nvidia(faults__0=fault), scene)


@pytest.mark.parametrize("interface", ["store", "memset", "load"])
def test_other_shapes_are_refused(host_session: _core.Session, interface: str) -> None:
    """Catches a second buffer, a part of 16 bytes and blocks of a CPU that are taken without a word."""
    buffers = [host_session.allocate("cpu0", "pageable", MIB, "cpu0") for _ in range(2)]
    for case, words in (
        (_core.Flow(*buffers, "cpu0", interface, MIB), "one buffer"),
        (_core.Flow(buffers[0], buffers[0], "cpu0", interface, 24), "multiples of 16"),
        (_core.Flow(buffers[0], buffers[0], "cpu0", interface, MIB, blocks=2), "no blocks"),
    ):
        with pytest.raises(_core.UnsupportedError, match=words):
            host_session.measure([case], _core.MeasureOptions())


@pytest.mark.parametrize("memory", ["device", "managed"])
def test_memset_by_hip(memory: str) -> None:
    """Catches a call whose value, of another type than CUDA's, or whose order in the queue is lost."""

    def scene(session: _core.Session) -> Any:
        case = flow(session, "memset", f"gpu0:{memory}", "gpu0", SIZE)
        measured = session.measure([case], toy.options(batch=4, max_samples=3))
        return measured.verified, measured.engine, measured.flows[0].verification.checked_bytes

    right, engine, checked = toy.play(toy.amd(), scene)
    assert right and engine == "kernel" and checked >= SIZE


def test_memset_of_memory_that_the_runtime_does_not_know() -> None:
    """Catches a runtime of an APU that sets what it refuses to copy (schieffer2025, Section 4.1.2)."""

    def scene(session: _core.Session) -> str:
        with pytest.raises(_core.Error) as caught:
            session.measure([flow(session, "memset", "cpu0:pageable", "gpu0", SIZE)], toy.options())
        return caught.value.code

    sheet = toy.amd(features__host_access=1, features__pageable_access=1)
    assert toy.play(sheet, scene, {"HSA_XNACK": "1"}) == "hipErrorInvalidValue"
