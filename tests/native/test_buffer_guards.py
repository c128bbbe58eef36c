"""Words behind buffers: what writes there is found when a measurement ends, on simulated GPUs and on CPUs."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import KIB, MIB

GPU, PEER, HOST = ("gpu0", "device"), ("gpu1", "device"), ("cpu0", "pinned")
REGISTERED, POOL = ("cpu0", "registered"), ("gpu1", "pool")


@pytest.mark.parametrize(("size", "odd"), [(64 * KIB, 0), (64 * KIB, 4)])
def test_words_written_behind_a_host_buffer_are_found(size: int, odd: int) -> None:
    """Catches an overrun that nobody sees, as the measured words are right; and one whose place is wrong."""
    session = _core.Session(gpus=False)
    near, far = (session.allocate("cpu0", "pageable", size + odd, "cpu0") for _ in range(2))
    flow, options = _core.Flow(near, far, "cpu0", "memcpy", size), toy.options(budget_s=0.001)
    assert session.measure([flow], options).verified
    place = size + (8 if odd else 0) + 24
    ctypes.memset(far.address + place, 0, 16)
    broken = session.measure([flow], options)
    found = broken.flows[0].verification
    assert not broken.verified and not found.ok and found.bad_count == 2
    assert (found.guard_of, found.buffer_bytes) == ("cpu0:pageable", size + odd)
    assert found.first_offset_bytes == place


@pytest.mark.parametrize(
    ("ends", "executor", "interface"),
    [
        ((GPU, PEER), "gpu0", "copy"),
        ((GPU, PEER), "gpu1", "kernel"),
        ((GPU, POOL), "gpu0", "copy"),
        ((GPU, HOST), "gpu0", "copy"),
        ((GPU, REGISTERED), "gpu0", "kernel"),
    ],
)
@pytest.mark.parametrize("size", [64 * KIB, 16 * MIB])
def test_an_overrun_is_corruption_with_its_place(ends: Any, executor: str, interface: str, size: int) -> None:
    """Catches a kind of memory without a guard, and a guard that nobody looks at."""
    path = f"{ends[0][0]}>{ends[1][0]}"

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu1", "gpu0")
        session.prove_peer("gpu0", "gpu1", ends[1][1] if ends[1] == POOL else "device")
        made = session.measure([toy.flow(session, *ends, executor, interface, size)], toy.options())
        found = made.flows[0].verification
        return [made.verified, found.guard_of, found.first_offset_bytes, found.buffer_bytes, found.bad_count]

    assert toy.play(toy.nvidia(), scene)[:2] == [True, ""]
    got = toy.play(toy.nvidia(faults__0=f"overrun:{path}"), scene)
    assert got == [False, ":".join(ends[1]), size, size, 1]
