"""Copies of any number of bytes: every byte is checked, and no byte next to them may change."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, RATES

SIZES = (1, 2, 3, 7, 8, 9, 12, 100, 255, 257, 4097)


def measured(
    session: _core.Session, ends: tuple[Any, ...], size: int, cold: bool, budget_s: float = 0.02, **more: int
) -> _core.Measurement:
    """A copy between buffers with room for two hundred of it."""
    room = 200 * 512 + 8192
    source, destination = (session.allocate(*end, room, end[0]) for end in ends[:2])
    flow = _core.Flow(source, destination, *ends[2:], size, cold=cold, **more)
    return session.measure([flow], toy.options(budget_s=budget_s))


@pytest.mark.parametrize("cold", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_on_this_machine(host_session: _core.Session, size: int, cold: bool) -> None:
    """Catches sizes that are rounded to words, and slots that are checked by neighbouring bytes."""
    ends = ("cpu0", "pageable"), ("cpu0", "pageable"), "cpu0", "memcpy"
    found = measured(host_session, ends, size, cold)
    assert found.verified
    assert found.flows[0].verification.checked_bytes % size == 0


@pytest.mark.parametrize("size", SIZES)
def test_by_a_simulated_engine(size: int) -> None:
    """Catches a vendor's copy of a part of a word that is refused, or moved as a whole word."""

    def scene(session: _core.Session) -> Any:
        ends = ("cpu0", "pinned"), ("gpu0", "device"), "gpu0", "copy"
        found = measured(session, ends, size, True)
        return found.verified, found.time_ns.median

    verified, time_ns = toy.play(toy.nvidia(), scene)
    assert verified
    assert time_ns == pytest.approx(FIXED_NS["engine"] + size / RATES["engine-host-read"] * 1e9, rel=1e-3)


@pytest.mark.parametrize("size", [1, 3, 8, 12])
@pytest.mark.parametrize("fault", ["skip:cpu0>gpu0", "corrupt:cpu0>gpu0:word=0"])
def test_what_did_not_arrive_is_found(size: int, fault: str) -> None:
    """Catches a last byte that is not checked."""
    sheet = toy.nvidia(faults__0=fault)

    def scene(session: _core.Session) -> Any:
        ends = ("cpu0", "pinned"), ("gpu0", "device"), "gpu0", "copy"
        found = measured(session, ends, size, False)
        told = found.flows[0].verification
        return found.verified, told.first_offset_bytes, told.expected != told.got

    assert toy.play(sheet, scene) == [False, 0, True]


@pytest.mark.parametrize("size", [1, 7, 8])
def test_what_warm_up_finds_wrong_is_not_looked_at_beyond_its_end(size: int) -> None:
    """Catches a check of no operations that counts one less than none: on a GPU it would end the context."""

    def scene(session: _core.Session) -> Any:
        ends = ("cpu0", "pinned"), ("gpu0", "device"), "gpu0", "copy"
        found = measured(session, ends, size, False, budget_s=1e-6)  # too little to check every sample
        return found.verified, len(found.samples_ns)

    assert toy.play(toy.nvidia(faults__0="corrupt:cpu0>gpu0:word=0"), scene) == [False, 0]


def test_another_interfaces_option_changes_nothing() -> None:
    """Catches an observed engine for which more bytes are moved than the case's."""

    def scene(session: _core.Session) -> Any:
        ends = ("gpu1", "device"), ("cpu0", "pinned"), "gpu0", "copy"
        return measured(session, ends, 7, True, width_bytes=8).verified

    assert toy.play(toy.nvidia(), scene)
