"""Words behind buffers: what writes there is found when a measurement ends, on simulated GPUs and on CPUs."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from byteways import _core
from byteways.measuring.shared.simulator import simulator_path
from tests.native import simulated as toy
from tests.native.simulated import KIB, MIB
from tests.native.test_ipc import SIZE, exported, handle_of

GPU, PEER, HOST = ("gpu0", "device"), ("gpu1", "device"), ("cpu0", "pinned")
REGISTERED, POOL, MANAGED = ("cpu0", "registered"), ("gpu1", "pool"), ("gpu1", "managed")


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
        ((PEER, MANAGED), "gpu1", "kernel"),
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


def test_the_rest_of_a_huge_page_is_a_guard() -> None:
    """Catches writes behind a buffer that ends within a huge page, before the inaccessible page."""
    session = _core.Session(gpus=False)
    if not session.offers("cpu0", "hugepage").available:
        pytest.skip("no huge pages here")
    size = 64 * KIB
    near, far = (session.allocate("cpu0", "hugepage", size, "cpu0") for _ in range(2))
    flow, options = _core.Flow(near, far, "cpu0", "memcpy", size), toy.options(budget_s=0.001)
    assert session.measure([flow], options).verified
    assert far.address % (2 * MIB) == 0
    ctypes.memset(far.address + size, 0, 8)
    found = session.measure([flow], options).flows[0].verification
    assert (found.ok, found.guard_of, found.first_offset_bytes) == (False, "cpu0:hugepage", size)


def test_a_buffer_of_whole_huge_pages_is_no_page_longer() -> None:
    """Catches a guard that takes another huge page, of which few may be reserved."""
    session = _core.Session(gpus=False)
    if not session.offers("cpu0", "hugepage").available:
        pytest.skip("no huge pages here")
    near, far = (session.allocate("cpu0", "hugepage", 2 * MIB, "cpu0") for _ in range(2))
    made = session.measure([_core.Flow(near, far, "cpu0", "memcpy", 2 * MIB)], toy.options(budget_s=0.001))
    assert made.verified and made.flows[0].verification.guard_of == ""


@pytest.mark.parametrize("fault", ["", "overrun:gpu0>gpu1"])
def test_memory_of_another_process_is_checked_by_the_one_that_opens_it(fault: str) -> None:
    """Catches an overrun into memory that a second process exported, which measures nothing itself."""
    sheet = toy.nvidia(faults__0=fault) if fault else toy.nvidia()

    def scene(session: _core.Session) -> list[Any]:
        session.prove_peer("gpu0", "gpu1")
        exporter = _core.Session(simulator=simulator_path(), machine=sheet)
        other = exported(exporter, sheet)
        opened = session.open_exported("gpu1", SIZE, "gpu0", handle_of(other, sheet))
        mine = session.allocate("gpu0", "device", SIZE, "gpu0")
        made = session.measure([_core.Flow(mine, opened, "gpu0", "copy", SIZE)], toy.options(max_samples=3))
        found = made.flows[0].verification
        return [made.verified, found.guard_of, found.buffer_bytes]

    assert toy.play(sheet, scene) == ([False, "gpu1:ipc", SIZE] if fault else [True, "", 0])


@pytest.mark.parametrize("fault", ["", "overrun:gpu0>gpu1"])
def test_memory_of_the_library_has_a_guard(fault: str) -> None:
    """Catches an overrun into memory that NCCL or RCCL allocated."""
    size = MIB

    def scene(session: _core.Session) -> list[Any]:
        session.prove_peer("gpu0", "gpu1")
        library = _core.Xccl("cuda", [], simulator_path())
        theirs = library.allocate(session, "gpu1", size)
        mine = session.allocate("gpu0", "device", size, "gpu0")
        made = session.measure([_core.Flow(mine, theirs, "gpu0", "copy", size)], toy.options(max_samples=3))
        found = made.flows[0].verification
        return [made.verified, found.guard_of, found.buffer_bytes]

    got = toy.play(toy.nvidia(faults__0=fault) if fault else toy.nvidia(), scene)
    assert got == ([False, "gpu1:xccl", size] if fault else [True, "", 0])
