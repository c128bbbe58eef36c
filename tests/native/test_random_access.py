"""Random access: every access is proved, whatever its size, and timed by the transactions that it needs."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, KIB, MIB, RATES
from tests.native.test_one_way import flow

INTERFACES = ("random-load", "random-store", "random-update")
SIZE = 64 * MIB
SECTOR = 32  # bytes of the toy's smallest transaction: its GPUs are NVIDIA's


#: test_host_loops.py has every size of an access, for each instruction set.
@pytest.mark.parametrize("access", [8, 128])
@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize(("size", "room"), [(KIB, 3 * KIB), (64 * KIB, 64 * KIB)], ids=["slots", "one"])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_host_accesses_every_place(
    host_session: _core.Session, interface: str, access: int, size: int, room: int, threads: int
) -> None:
    """Would catch an order that visits a place twice, a member's share left out, and a false alarm."""
    options = _core.MeasureOptions()
    options.budget_s, options.max_samples = 0.005, 10
    case = flow(
        host_session,
        interface,
        "cpu0:pageable",
        "cpu0",
        size,
        threads=threads,
        room=room,
        access_bytes=access,
    )
    measured = host_session.measure([case], options)
    assert measured.verified and measured.engine == "cpu"
    [result] = measured.flows
    assert result.verification.checked_bytes > 0 and result.blocks == threads
    counted = 2 if interface == "random-update" else 1
    assert result.bytes_per_s == pytest.approx(counted * size / measured.time_ns.median * 1e9)


@pytest.mark.parametrize(
    ("interface", "array", "rate"),
    [
        ("random-store", "gpu0:device", 2 * RATES["kernel-local"]),  # the model's is of a copy
        ("random-load", "gpu0:device", 2 * RATES["kernel-local"]),
        ("random-update", "gpu0:device", RATES["kernel-local"]),
        ("random-store", "gpu1:device", RATES["kernel-peer-write"]),
        ("random-load", "gpu1:device", RATES["kernel-peer-read"]),
        ("random-load", "cpu0:pinned", RATES["kernel-host-read"]),
    ],
)
@pytest.mark.parametrize("access", [8, 64])
def test_whole_sectors_are_moved(interface: str, array: str, rate: float, access: int) -> None:
    """Catches accesses of 8 bytes that cost as little as their bytes, and large ones that cost more."""

    def scene(session: _core.Session) -> Any:
        case = flow(session, interface, array, "gpu0", SIZE, access_bytes=access)
        measured = session.measure([case], toy.options())
        return measured.time_ns.median, measured.verified, measured.engine

    time_ns, right, engine = toy.play(toy.nvidia(), scene)
    assert right and engine == "kernel"
    moved = SIZE * max(1, SECTOR // access)
    assert time_ns == pytest.approx(FIXED_NS["kernel"] + moved / rate * 1e9, rel=1e-3)


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("fault", ["corrupt:gpu0>gpu0:word=77", "skip:gpu0>gpu0"])
@pytest.mark.parametrize("size", [64 * KIB, SIZE], ids=["real", "described"])
def test_what_is_wrong_is_found(interface: str, fault: str, size: int) -> None:
    """Fail closed. Catches an access that was lost, or an update that was made once too little."""

    def scene(session: _core.Session) -> Any:
        case = flow(session, interface, "gpu0:device", "gpu0", size)
        [result] = session.measure([case], toy.options(batch=4, max_samples=3)).flows
        return result.verification.ok

    assert toy.play(toy.nvidia(), scene)
    assert not toy.play(toy.nvidia(faults__0=fault), scene)


def test_updates_are_counted_over_slots() -> None:
    """Catches a count of updates that is wrong where a rotation of slots ends in its middle."""

    def scene(session: _core.Session) -> Any:
        case = flow(session, "random-update", "gpu0:device", "gpu0", MIB, room=7 * MIB)
        options = toy.options()
        options.max_samples = 23
        [result] = session.measure([case], options).flows
        return result.verification.ok, result.verification.checked_bytes

    right, checked_bytes = toy.play(toy.nvidia(), scene)
    assert right and checked_bytes > 0 and checked_bytes % (7 * MIB) == 0


@pytest.mark.parametrize(
    ("interface", "size", "options", "words"),
    [
        ("random-load", 24 * KIB, {}, "power of two of at least 1024 bytes"),
        ("random-load", 512, {}, "power of two of at least 1024 bytes"),
        ("random-load", KIB, {"access_bytes": 24}, "a power of two from 4 to 128 bytes"),
        ("random-store", KIB, {"access_bytes": 256}, "a power of two from 4 to 128 bytes"),
        ("random-update", KIB, {"access_bytes": 4}, "a power of two from 8 to 128 bytes"),
        ("random-update", KIB, {"blocks": 2}, "no blocks"),
    ],
)
def test_other_shapes_are_refused(
    host_session: _core.Session, interface: str, size: int, options: dict[str, int], words: str
) -> None:
    """Catches sizes and accesses that would leave places out, or half a word without a count."""
    case = flow(host_session, interface, "cpu0:pageable", "cpu0", size, room=MIB, **options)
    with pytest.raises(_core.UnsupportedError, match=words):
        host_session.measure([case], _core.MeasureOptions())


def test_two_buffers_are_refused() -> None:
    """Catches a second buffer that is taken without a word."""
    session = _core.Session(gpus=False)
    buffers = [session.allocate("cpu0", "pageable", MIB, "cpu0") for _ in range(2)]
    with pytest.raises(_core.UnsupportedError, match="one buffer"):
        session.measure([_core.Flow(*buffers, "cpu0", "random-load", MIB)], _core.MeasureOptions())
